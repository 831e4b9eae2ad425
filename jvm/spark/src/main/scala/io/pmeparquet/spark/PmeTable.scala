package io.pmeparquet.spark

import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.options.OptionOrigin
import io.pmeparquet.spark.read.{EncryptedTable, SessionRules}
import io.pmeparquet.spark.rules.SessionSetup

/**
 * The V2 side of the format, for reads that Spark's V2 scan serves better (aggregate push-down). It has no write
 * capability, so Spark sends writes to [[PmeFileFormat]]. [[EncryptedTable]] reads. ''Driver only.''
 */
class PmeTable(
    override val name: String,
    session: SparkSession,
    tableOptions: CaseInsensitiveStringMap,
    paths: Seq[String],
    userSchema: Option[StructType],
    origin: OptionOrigin
) extends EncryptedTable(session, tableOptions, paths, userSchema, origin) {

  private[spark] override def sessionRules: SessionRules = SessionSetup

  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[PmeFileFormat]

  override def supportsDataType(dataType: DataType): Boolean = new PmeFileFormat().supportDataType(dataType)
}
