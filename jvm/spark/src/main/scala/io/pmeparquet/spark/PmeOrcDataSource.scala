package io.pmeparquet.spark

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.v2.orc.OrcDataSourceV2
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.pmeparquet.spark.options.OptionOrigin
import io.pmeparquet.spark.rules.SessionSetup
import io.pmeparquet.spark.session.FormatName

/**
 * START HERE for ORC. Encrypted ORC, as a user types it:
 * {{{
 *   spark.read.format("pme-orc").option("kms.keystore.path", …).load(path)
 * }}}
 * Spark sends writes, SQL, streaming and most reads to [[PmeOrcFileFormat]], and reads with `scan=v2` to [[PmeOrcTable]].
 * It extends `OrcDataSourceV2` because Spark's DDL (`ALTER TABLE … ADD COLUMNS`) accepts no other.
 *
 * ''Driver only.''
 */
class PmeOrcDataSource extends OrcDataSourceV2 with OurSource {
  SessionSetup.install()

  override def shortName(): String = FormatName.Orc

  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[PmeOrcFileFormat]

  private[spark] override def tableOf(
      name: String,
      options: CaseInsensitiveStringMap,
      paths: Seq[String],
      schema: Option[StructType],
      origin: OptionOrigin
  ): Table = new PmeOrcTable(name, sparkSession, options, paths, schema, origin)
}

/** `pme_orc`: the same source by a name that SQL reads without backquotes. */
final class PmeOrcInSql extends PmeOrcDataSource {
  override def shortName(): String = FormatName.OrcInSql
}
