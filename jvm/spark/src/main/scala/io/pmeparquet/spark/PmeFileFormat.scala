package io.pmeparquet.spark

import scala.collection.JavaConverters._

import org.apache.hadoop.mapreduce.Job
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriterFactory}
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.options.{Asker, FormatOrigin, OptionOrigin}
import io.pmeparquet.spark.read.{EncryptedParquetFormat, EncryptedParquetTable, FormatState, SessionRules}
import io.pmeparquet.spark.rules.SessionSetup
import io.pmeparquet.spark.session.FormatName
import io.pmeparquet.spark.stream.EncryptedSinks
import io.pmeparquet.spark.write.EncryptedWrite

/**
 * The V1 side of the format, which Spark looks up by name: all writes, SQL, streaming, and reads by default. It adds
 * the rules to the session. [[EncryptedParquetFormat]] reads, and [[EncryptedWrite]] writes.
 *
 * ''Driver only''; the functions that it returns cross the wire.
 */
class PmeFileFormat private (state: FormatState) extends EncryptedParquetFormat(state) with EncryptedSinks {
  SessionSetup.install()

  /** Spark calls this by reflection. */
  def this() = this(FormatState.of(FormatOrigin(Asker.here())))

  private[spark] override def of(state: FormatState): PmeFileFormat = new PmeFileFormat(state)

  private[spark] override def sessionRules: SessionRules = SessionSetup

  private[spark] override def v2Table(
      session: SparkSession,
      options: Map[String, String],
      paths: Seq[String],
      schema: StructType
  ): Table =
    new PmeTable(
      FormatName.Format,
      session,
      new CaseInsensitiveStringMap(options.asJava),
      paths,
      Some(schema),
      origin
    )

  override def prepareWrite(
      session: SparkSession,
      job: Job,
      options: Map[String, String],
      dataSchema: StructType
  ): OutputWriterFactory =
    EncryptedWrite.prepare(session, origin, prepared, writeSeal, job, options, dataSchema)(
      super.prepareWrite(session, job, options, dataSchema)
    )
}

/**
 * The V2 side of the format, for reads that Spark's V2 scan serves better (aggregate push-down). It has no write
 * capability, so Spark sends writes to [[PmeFileFormat]]. [[EncryptedParquetTable]] reads. ''Driver only.''
 */
class PmeTable(
    override val name: String,
    session: SparkSession,
    tableOptions: CaseInsensitiveStringMap,
    paths: Seq[String],
    userSchema: Option[StructType],
    origin: OptionOrigin
) extends EncryptedParquetTable(session, tableOptions, paths, userSchema, origin) {

  private[spark] override def sessionRules: SessionRules = SessionSetup

  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[PmeFileFormat]

  override def supportsDataType(dataType: DataType): Boolean = new PmeFileFormat().supportDataType(dataType)
}
