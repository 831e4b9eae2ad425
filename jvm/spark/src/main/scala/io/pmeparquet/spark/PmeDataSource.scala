package io.pmeparquet.spark

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetDataSourceV2
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.pmeparquet.spark.options.OptionOrigin
import io.pmeparquet.spark.rules.SessionSetup
import io.pmeparquet.spark.session.FormatName

/**
 * START HERE. Parquet with Parquet Modular Encryption, as a user types it:
 * {{{
 *   df.write.format("pme-parquet").option("kms.keystore.path", …).option("footerKey", "footer").save(path)
 *   spark.read.format("pme-parquet").option("kms.keystore.path", …).load(path)
 * }}}
 *
 * A thin file source over Spark's own `parquet`. Spark sends writes, SQL, streaming and most reads to
 * [[PmeFileFormat]]. It sends those reads that its V2 scan serves better to [[PmeTable]]. The source extends
 * `ParquetDataSourceV2` because Spark's DDL (`ALTER TABLE … ADD COLUMNS`) accepts no other. From either table, these
 * classes lead to the AES call for a page. To read: `PagesRead`, `io.pmeparquet.parquet.file.SplitReader`,
 * `ChunkPages`, `io.pmeparquet.cipher.AesGcm`. To write: `io.pmeparquet.parquet.PmeCryptoFactory`, `FileEncryption`,
 * parquet-java. `package-info.java` lists the packages.
 *
 * ''Driver only.''
 */
class PmeDataSource extends ParquetDataSourceV2 with OurSource {
  SessionSetup.install()

  override def shortName(): String = PmeDataSource.Name

  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[PmeFileFormat]

  private[spark] override def tableOf(
      name: String,
      options: CaseInsensitiveStringMap,
      paths: Seq[String],
      schema: Option[StructType],
      origin: OptionOrigin
  ): Table = new PmeTable(name, sparkSession, options, paths, schema, origin)
}

object PmeDataSource {
  val Name: String = FormatName.Format
}
