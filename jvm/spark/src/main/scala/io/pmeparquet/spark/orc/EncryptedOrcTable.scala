package io.pmeparquet.spark.orc

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.execution.datasources.v2.orc.OrcScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.read.OurTable

/** The V2 side of encrypted ORC. ''Driver only.'' */
abstract class EncryptedOrcTable private[spark] (
    session: SparkSession,
    tableOptions: CaseInsensitiveStringMap,
    paths: Seq[String],
    userSchema: Option[StructType]
) extends OurTable(session, tableOptions, paths, userSchema) {

  /** The V1 side, which opens the files. */
  private[spark] def format: OrcFormat

  override def formatName: String = format.toString

  private[spark] override def schemaOf(
      files: Seq[FileStatus],
      options: Map[String, String]
  ): Option[StructType] = format.inferSchema(session, options, files)

  private[spark] override def scans(options: Map[String, String]): ScanBuilder = {
    val sparks = new CaseInsensitiveStringMap(OurTable.skippingNothing(options).asJava)
    val spark = new OrcScanBuilder(session, fileIndex, schema, dataSchema, sparks)
    new EncryptedOrcScanBuilder(session, options, format, spark)
  }
}
