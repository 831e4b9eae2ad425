package io.pmeparquet.spark

import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.options.OptionOrigin
import io.pmeparquet.spark.orc.{EncryptedOrcTable, OrcFormat}

/**
 * The V2 side of encrypted ORC, for reads with `scan=v2`. It has no write capability, so Spark sends writes to
 * [[PmeOrcFileFormat]]. [[EncryptedOrcTable]] reads. ''Driver only.''
 */
class PmeOrcTable(
    override val name: String,
    session: SparkSession,
    tableOptions: CaseInsensitiveStringMap,
    paths: Seq[String],
    userSchema: Option[StructType],
    origin: OptionOrigin
) extends EncryptedOrcTable(session, tableOptions, paths, userSchema) {

  private[spark] override lazy val format: OrcFormat =
    new PmeOrcFileFormat().withOrigin(_ => origin).asInstanceOf[OrcFormat]

  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[PmeOrcFileFormat]

  override def supportsDataType(dataType: DataType): Boolean = format.supportDataType(dataType)
}
