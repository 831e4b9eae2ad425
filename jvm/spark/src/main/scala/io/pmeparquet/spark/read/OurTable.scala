package io.pmeparquet.spark.read

import java.util

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.connector.catalog.TableCapability
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.execution.datasources.v2.FileTable
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.PmeSparkException

/** The V2 side of a format of ours, as rules know it. It only reads. ''Driver only.'' */
abstract class OurTable private[spark] (
    session: SparkSession,
    tableOptions: CaseInsensitiveStringMap,
    paths: Seq[String],
    userSchema: Option[StructType]
) extends FileTable(session, tableOptions, paths, userSchema) {

  private[spark] def schemaOf(files: Seq[FileStatus], options: Map[String, String]): Option[StructType]

  /** @param options of the table and the scan */
  private[spark] def scans(options: Map[String, String]): ScanBuilder

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def inferSchema(files: Seq[FileStatus]): Option[StructType] =
    PmeSparkException.translated(schemaOf(files, spelled(tableOptions)))

  override def newScanBuilder(scanOptions: CaseInsensitiveStringMap): ScanBuilder =
    PmeSparkException.translated {
      // Spark 3.5 passes only the scan's options, later versions also the table's. The scan's options take precedence.
      val ofTable = spelled(tableOptions).filterNot { case (name, _) => scanOptions.containsKey(name) }
      scans(ofTable ++ spelled(scanOptions))
    }

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    throw new IllegalStateException("internal error: writes go through the V1 side")

  private def spelled(options: CaseInsensitiveStringMap) = options.asCaseSensitiveMap().asScala.toMap
}

private[spark] object OurTable {
  private val Skips = "ignoreCorruptFiles"

  /**
   * Options for Spark's own V2 reader, which can skip a file on any failure, below our code. It must not skip an altered or
   * plaintext file.
   */
  def skippingNothing(options: Map[String, String]): Map[String, String] =
    options.filterNot { case (name, _) => name.equalsIgnoreCase(Skips) } + (Skips -> "false")
}
