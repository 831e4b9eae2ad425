package io.pmeparquet.spark

import java.util

import scala.collection.JavaConverters._

import org.apache.spark.sql.connector.catalog.{Table, TableCapability}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetDataSourceV2
import org.apache.spark.sql.execution.datasources.v2.FileDataSourceV2
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.pmeparquet.spark.options.{Asker, OptionOrigin, ResolvedOptions}
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
 * `FileSealer`. `package-info.java` lists the packages.
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

/** `pme_parquet`: the same source by a name that SQL reads without backquotes. */
final class PmeParquetInSql extends PmeDataSource {
  override def shortName(): String = FormatName.FormatInSql
}

/** A source of ours, which Spark reads by its V1 path, unless a read asks for the V2 scan (`scan=v2`). ''Driver only.'' */
private[spark] trait OurSource extends FileDataSourceV2 {

  /** The V2 side, for the files of these paths. */
  private[spark] def tableOf(
      name: String,
      options: CaseInsensitiveStringMap,
      paths: Seq[String],
      schema: Option[StructType],
      origin: OptionOrigin
  ): Table

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    if (viaV2(options)) super.inferSchema(options) else OurSource.OfV1

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table =
    if (!(schema eq OurSource.OfV1) && viaV2(new CaseInsensitiveStringMap(properties)))
      super.getTable(schema, partitioning, properties)
    else new V1OnlyTable(shortName(), schema)

  override def getTable(options: CaseInsensitiveStringMap): Table = table(options, None)

  override def getTable(options: CaseInsensitiveStringMap, schema: StructType): Table =
    table(options, Some(schema))

  private def table(options: CaseInsensitiveStringMap, schema: Option[StructType]): Table = {
    val paths = getPaths(options)
    val origin = if (Asker.here() == Asker.Statement) OptionOrigin.Frame else OptionOrigin.Unknown
    tableOf(getTableName(options, paths), getOptionsWithoutPaths(options), paths, schema, origin)
  }

  private def viaV2(options: CaseInsensitiveStringMap): Boolean = PmeSparkException.translated {
    val asked = options.asCaseSensitiveMap().asScala.toMap
    ResolvedOptions.of(sparkSession, OptionOrigin.Unknown, asked).usesV2Scan
  }
}

private object OurSource {

  /** What stands for the schema of a read by the V1 path, which infers it. `getTable` gets this object next. */
  val OfV1 = new StructType()
}

/** A table without V2 capabilities, so that Spark takes the V1 path. It opens no file. */
private final class V1OnlyTable(tableName: String, tableSchema: StructType) extends Table {
  override def name(): String = tableName
  override def schema(): StructType = tableSchema
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.noneOf(classOf[TableCapability])
}
