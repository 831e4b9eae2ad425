package io.pmeparquet.spark

import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.options.{Asker, FormatOrigin, OptionOrigin}
import io.pmeparquet.spark.orc.{EncryptedOrcTable, OrcFormat, OrcState}
import io.pmeparquet.spark.read.SessionRules
import io.pmeparquet.spark.rules.SessionSetup
import io.pmeparquet.spark.stream.EncryptedSinks

/**
 * The V1 side of encrypted ORC, which Spark looks up by name: all writes, SQL, streaming, and reads by default. Spark's
 * own `orc` reads and writes; [[OrcFormat]] gives it keys and looks at files first. From there: `OrcRead`,
 * `io.pmeparquet.orc.OrcAdmission`, and `io.pmeparquet.orc.keys.PmeKeyProvider`, which ORC asks for keys.
 *
 * ''Driver only''; the functions that it returns cross the wire.
 */
class PmeOrcFileFormat private (state: OrcState) extends OrcFormat(state) with EncryptedSinks {
  SessionSetup.install()

  /** Spark calls this by reflection. */
  def this() = this(OrcState.of(FormatOrigin(Asker.here())))

  private[spark] override def of(state: OrcState): PmeOrcFileFormat = new PmeOrcFileFormat(state)

  private[spark] override def sessionRules: SessionRules = SessionSetup
}

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
