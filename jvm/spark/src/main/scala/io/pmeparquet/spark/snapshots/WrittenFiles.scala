package io.pmeparquet.spark.snapshots

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.CollectionAccumulator

import io.pmeparquet.parquet.write.{WriteRules, WrittenFooter}

/**
 * The files that one write makes. Its tasks report each file when they close it, and Spark counts the reports of each
 * partition's committed task only, and once. So a file that lies in the table afterwards and is not among these was made by
 * somebody else. ''Crosses the wire.''
 *
 * @param table path of the table's directory, without scheme and authority
 */
private[spark] final class WrittenFiles private (
    table: String,
    reported: CollectionAccumulator[(String, WrittenFooter)]
) extends Serializable {

  /** For a task that has closed a file. */
  def report(file: Path, conf: Configuration): Unit =
    reported.add(WriteRules.committedPath(file, table) -> WrittenFooter.read(file, conf))

  /** For the driver, before the job: Spark may run a plan again that failed. */
  def begin(): Unit = reported.reset()

  /** By their paths in the table, for the driver after the job. */
  def committed: Map[String, WrittenFooter] = reported.value.asScala.toMap
}

private[spark] object WrittenFiles {
  def of(session: SparkSession, table: Path): WrittenFiles =
    new WrittenFiles(table.toUri.getPath, session.sparkContext.collectionAccumulator[(String, WrittenFooter)])
}
