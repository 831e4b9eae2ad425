package io.pmeparquet.spark

import java.util

import scala.collection.JavaConverters._

import org.apache.spark.sql.connector.catalog.{Table, TableCapability}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetDataSourceV2
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.pmeparquet.spark.options.{Asker, ConfResolver, OptionOrigin}
import io.pmeparquet.spark.rules.SessionSetup
import io.pmeparquet.spark.session.{FormatName, PmeSparkException}

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
class PmeDataSource extends ParquetDataSourceV2 {
  SessionSetup.install()

  override def shortName(): String = PmeDataSource.Name

  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[PmeFileFormat]

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    if (viaV2(options)) super.inferSchema(options) else new StructType()

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table =
    if (viaV2(new CaseInsensitiveStringMap(properties))) super.getTable(schema, partitioning, properties)
    else new V1OnlyTable(schema)

  override def getTable(options: CaseInsensitiveStringMap): Table = table(options, None)

  override def getTable(options: CaseInsensitiveStringMap, schema: StructType): Table =
    table(options, Some(schema))

  private def table(options: CaseInsensitiveStringMap, schema: Option[StructType]): Table = {
    val paths = getPaths(options)
    val origin = if (Asker.here() == Asker.Statement) OptionOrigin.Frame else OptionOrigin.Unknown
    val own = getOptionsWithoutPaths(options)
    new PmeTable(getTableName(options, paths), sparkSession, own, paths, schema, origin)
  }

  private def viaV2(options: CaseInsensitiveStringMap): Boolean = PmeSparkException.translated {
    new ConfResolver(sparkSession).usesV2Scan(options.asCaseSensitiveMap().asScala.toMap)
  }
}

object PmeDataSource {
  val Name: String = FormatName.Format
}

/** A table without V2 capabilities, so that Spark takes the V1 path. It opens no file. */
private final class V1OnlyTable(tableSchema: StructType) extends Table {
  override def name(): String = PmeDataSource.Name
  override def schema(): StructType = tableSchema
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.noneOf(classOf[TableCapability])
}
