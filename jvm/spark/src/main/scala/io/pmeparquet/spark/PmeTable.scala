package io.pmeparquet.spark

import java.util

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.connector.catalog.TableCapability
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScanBuilder
import org.apache.spark.sql.execution.datasources.v2.FileTable
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.PmeCryptoFactory

/**
 * The V2 side of the format, for reads that Spark's V2 scan serves better (aggregate push-down). Only reads: without a
 * write capability Spark sends writes to [[PmeFileFormat]]. ''Driver only.''
 */
class PmeTable(
    override val name: String,
    session: SparkSession,
    tableOptions: CaseInsensitiveStringMap,
    paths: Seq[String],
    userSchema: Option[StructType],
    origin: OptionOrigin
) extends FileTable(session, tableOptions, paths, userSchema) {

  override def formatName: String = "PmeParquet"

  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[PmeFileFormat]

  override def supportsDataType(dataType: DataType): Boolean = new PmeFileFormat().supportDataType(dataType)

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def inferSchema(files: Seq[FileStatus]): Option[StructType] = PmeSparkException.translated {
    val spelled = spelledOptions(tableOptions)
    SchemaInference.infer(session, spelled, files, new ConfResolver(session, origin).read(spelled))
  }

  override def newScanBuilder(scanOptions: CaseInsensitiveStringMap): ScanBuilder =
    PmeSparkException.translated {
      // Spark 3.5 hands over the scan's options alone, later ones both: the table's hold where the scan says nothing.
      val scan = spelledOptions(scanOptions)
      val spelled = spelledOptions(tableOptions).filterNot { case (name, _) =>
        scanOptions.containsKey(name)
      } ++ scan
      val scope = new ConfResolver(session, origin).scan(spelled, dataSchema)
      val ours = PmeCryptoFactory.readProperties(scope) + PmeTable.NothingSkipped
      val options = new CaseInsensitiveStringMap(
        (spelled.filterNot(_._1.equalsIgnoreCase(PmeTable.NothingSkipped._1)) ++ ours).asJava
      )
      val spark = new ParquetScanBuilder(session, fileIndex, schema, dataSchema, options)
      new PmeScanBuilder(spark, FileOpeningOf(session, options, scope))
    }

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    throw new IllegalStateException("internal error: writes go through PmeFileFormat")

  private def spelledOptions(options: CaseInsensitiveStringMap) = options.asCaseSensitiveMap().asScala.toMap
}

private object PmeTable {

  /** Spark's V2 reader skips a file on any failure, beneath us; an altered or plaintext file is not to be skipped. */
  val NothingSkipped: (String, String) = "ignoreCorruptFiles" -> "false"
}
