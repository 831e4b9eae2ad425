package io.pmeparquet.spark.admin

import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.columns.{KeyPlan, LeafColumn}
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.copy.FileRewrite
import io.pmeparquet.parquet.files.StagedTable
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.spark.session.PmeSparkException

/** Checks whether column keys fit a table's files, as a write checks its one schema. ''Driver only.'' */
private[admin] object TableColumns {

  /**
   * Fails if a column key names no column of any file, or a partition column, before anything is written.
   *
   * @param files paths within the directory
   */
  def check(
      session: SparkSession,
      files: Seq[String],
      directory: Path,
      read: ReadScope,
      conf: Broadcast[SerializableConfiguration],
      settings: FileSettings
  ): Unit = {
    checkPartitions(files, settings)
    val slices = files.size.min(session.sparkContext.defaultParallelism * 4)
    val leaves = session.sparkContext
      .parallelize(files, slices)
      .mapPartitions(new LeavesTask(conf, read, directory))
      .collect()
    checkLeaves(leaves.toSeq.flatten, settings)
  }

  /** @param files paths within the directory */
  def checkPartitions(files: Seq[String], settings: FileSettings): Unit = {
    val partitions = files.flatMap(file => WriteRules.partitionColumns(new Path("/t/" + file), "/t")).distinct
    KeyPlan.checkPartitions(partitions, settings.columnKeys, settings.caseSensitive)
  }

  /** @param leaves the leaf columns of all files */
  def checkLeaves(leaves: Seq[LeafColumn], settings: FileSettings): Unit = {
    KeyPlan.of(leaves.distinct, settings.columnKeys, settings.unlisted, settings.caseSensitive)
    ()
  }
}

/** The leaf columns of some files. ''Crosses the wire'', with the scope. */
private final class LeavesTask(conf: Broadcast[SerializableConfiguration], read: ReadScope, from: Path)
    extends (Iterator[String] => Iterator[Seq[LeafColumn]])
    with Serializable {

  override def apply(files: Iterator[String]): Iterator[Seq[LeafColumn]] = PmeSparkException.translated {
    val leaves = files.map(file => FileRewrite.leaves(read, conf.value.value, StagedTable.within(from, file)))
    // A list, because this crosses the wire: Scala 2.12 makes a lazy stream for a sequence.
    Iterator(leaves.flatten.toList.distinct)
  }
}
