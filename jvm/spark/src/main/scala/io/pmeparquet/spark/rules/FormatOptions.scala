package io.pmeparquet.spark.rules

import java.lang.reflect.InaccessibleObjectException
import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.command._
import org.apache.spark.sql.execution.datasources.{CreateTable => _, _}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation,
  FileTable
}
import org.apache.spark.sql.execution.datasources.v2.orc.OrcTable
import org.apache.spark.sql.execution.streaming.sources.{
  WriteToMicroBatchDataSource,
  WriteToMicroBatchDataSourceV1
}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.pmeparquet.spark.orc.OrcFormat
import io.pmeparquet.spark.read.{EncryptedFileFormat, EncryptedFileTable}
import io.pmeparquet.spark.session.{DeltaClasses, FormatName}
import io.pmeparquet.spark.snapshot.SealedTable

/**
 * The options that a node of a plan gives to a format. ''Driver only.''
 *
 * @param label what messages call the format; evaluated only for a message, because some tables throw if something asks
 * @param isParquet whether parquet-java may write it
 * @param stores whether Spark itself reads or writes files of Parquet or ORC
 * @param reaches whether the options reach the Hadoop configuration of the files
 * @param isDeltas whether the files are Delta's, which has rules of its own
 * @param isOrc whether Spark itself or Hive reads or writes ORC
 * @param isOurs whether the format is ours; evaluated only if options of ours are among these
 */
private[pmeparquet] final class FormatOptions(
    label: => String,
    val options: Map[String, String],
    val isParquet: Boolean = true,
    val stores: Boolean = false,
    val reaches: Boolean = true,
    val isDeltas: Boolean = false,
    val isOrc: Boolean = false
)(
    isOurs: => Boolean
) {
  def format: String = label
  def ours: Boolean = isOurs
}

/** Finds in each node of a plan which options it gives to which format. ''Driver only.'' */
private[pmeparquet] object FormatOptions {

  /** What a node writes, by format. */
  def writes(node: LogicalPlan): Seq[FormatOptions] = node match {
    case write: InsertIntoHadoopFsRelationCommand => Seq(ofFiles(write.fileFormat, write.options))
    case save: SaveIntoDataSourceCommand => Seq(ofOther(labelOf(save.dataSource), save.options))
    case into: InsertIntoDataSourceCommand => into.logicalRelation.catalogTable.map(ofTable).toSeq
    case to: InsertIntoDataSourceDirCommand => Seq(ofProvider(to.provider, to.storage.properties))
    case create: CreateDataSourceTableCommand => Seq(ofTable(create.table))
    case create: CreateDataSourceTableAsSelectCommand => Seq(ofTable(create.table))
    case create: CreateTableCommand => Seq(ofTable(create.table))
    case write: AppendData => ofV2(write.table, write.writeOptions)
    case write: OverwriteByExpression => ofV2(write.table, write.writeOptions)
    case write: OverwritePartitionsDynamic => ofV2(write.table, write.writeOptions)
    case create: CreateTable => ofSpec(create.tableSpec, Map.empty)
    case replace: ReplaceTable => ofSpec(replace.tableSpec, Map.empty)
    case create: CreateTableAsSelect => ofSpec(create.tableSpec, create.writeOptions)
    case replace: ReplaceTableAsSelect => ofSpec(replace.tableSpec, replace.writeOptions)
    case stream: WriteToStream => StreamSinks.options(stream.sink).map(ofSink(stream.sink, _))
    case batch: WriteToMicroBatchDataSourceV1 => Seq(ofSink(batch.sink, batch.writeOptions))
    case batch: WriteToMicroBatchDataSource => Seq(ofOther("of the stream's sink", batch.writeOptions))
    case HiveCommands(made @ _*) =>
      made.collect {
        case table: CatalogTable => ofTable(table)
        case storage: CatalogStorageFormat => ofHive(storage)
      }
    case _ => Nil
  }

  /** What a node reads, by format. */
  def reads(node: LogicalPlan): Seq[FormatOptions] = node match {
    case FileRelation(files, format) =>
      Seq(ofFiles(format, files.options, DeltaClasses.isDeltas(files.location)))
    case relation: LogicalRelation => relation.catalogTable.map(ofTable).toSeq
    case relation: DataSourceV2Relation => ofV2(relation, Map.empty)
    // What the optimizer has made of it: only sessions without our extension are checked so late.
    case scan: DataSourceV2ScanRelation => ofV2(scan.relation, Map.empty)
    case relation: HiveTableRelation => Seq(ofTable(relation.tableMeta))
    case leaf: LeafNode =>
      PlanFields.sourceOf(leaf).map(source => ofProvider(source.className, source.options)).toSeq
    case _ => Nil
  }

  private def ofFiles(format: FileFormat, options: Map[String, String], isOfDelta: Boolean = false) = {
    val isDeltas = isOfDelta || DeltaClasses.isDeltas(format)
    new FormatOptions(
      labelOf(format),
      options,
      format.isInstanceOf[ParquetFileFormat],
      stores = !isDeltas && isFileFormat(format),
      isDeltas = isDeltas,
      isOrc = isSparksOrc(format)
    )(
      format.isInstanceOf[EncryptedFileFormat] || (UseOrcKeys.isSparks(format) && UseOrcKeys.asksUs(options))
    )
  }

  /** Also if our format has taken its place for the keys. */
  private def isSparksOrc(format: FileFormat) = format match {
    case ours: OrcFormat => ours.isInsteadOfSparks
    case other => UseOrcKeys.isSparks(other)
  }

  private def words(name: String) = name.toLowerCase(Locale.ROOT).split("[^a-z]+")

  private def isOrcName(name: String) = words(name).exists(_.startsWith("orc"))

  private def isFileFormat(format: FileFormat) =
    format.isInstanceOf[ParquetFileFormat] || isFileName(format.getClass.getSimpleName)

  /** Whether a provider, a class or a SerDe has Parquet or ORC in its name. */
  private def isFileName(name: String) = isOrcName(name) || words(name).exists(_.contains("parquet"))

  private def classesOf(storage: CatalogStorageFormat) =
    Seq(storage.serde, storage.inputFormat, storage.outputFormat).flatten

  private def ofOther(format: String, options: Map[String, String]) =
    new FormatOptions(format, options)(false)

  private def ofHive(storage: CatalogStorageFormat) =
    new FormatOptions(
      "hive",
      storage.properties,
      stores = classesOf(storage).exists(isFileName),
      isOrc = classesOf(storage).exists(isOrcName)
    )(false)

  /** A catalog's table. */
  def ofTable(table: CatalogTable): FormatOptions =
    table.provider.filterNot(_.equalsIgnoreCase("hive")) match {
      case Some(provider) => ofProvider(provider, table.storage.properties)
      case None => ofHive(table.storage)
    }

  private def ofProvider(provider: String, options: Map[String, String]) =
    new FormatOptions(
      provider,
      options,
      stores = isFileName(provider),
      isOrc = isOrc(provider)
    )(
      FormatName.names(provider) || (isOrc(provider) && UseOrcKeys.asksUs(options))
    )

  private def isOrc(provider: String) =
    provider.equalsIgnoreCase("orc") || provider == classOf[OrcFileFormat].getName

  private def ofSpec(spec: TableSpecBase, options: Map[String, String]): Seq[FormatOptions] = {
    val ofTable = spec match {
      case resolved: TableSpec => resolved.options
      case _ => Map.empty[String, String]
    }
    val provider = spec.provider.getOrElse("of the catalog")
    Seq(options, ofTable).map(ofProvider(provider, _))
  }

  private def ofV2(relation: LogicalPlan, options: Map[String, String]): Seq[FormatOptions] = relation match {
    case v2: DataSourceV2Relation =>
      Seq(options, v2.options.asCaseSensitiveMap().asScala.toMap).map { found =>
        new FormatOptions(
          labelOf(v2.table),
          found,
          stores = isFile(v2.table),
          isOrc = v2.table.isInstanceOf[OrcTable]
        )(isOurs(v2.table))
      }
    case _ => Seq(ofOther("of the table", options))
  }

  private def ofSink(sink: AnyRef, options: Map[String, String]) = {
    val formats = StreamSinks.formats(sink)
    new FormatOptions(
      // A V1 sink is a table that throws if something asks for its name.
      formats.headOption.fold(className(sink))(labelOf),
      options,
      stores = formats.exists(isFileFormat),
      reaches = false,
      isOrc = formats.exists(isSparksOrc)
    )(StreamSinks.isOurs(sink))
  }

  /** The short name of a format, the provider of a table, or the name of the class. */
  private def labelOf(format: AnyRef): String = format match {
    case registered: DataSourceRegister => registered.shortName()
    case table: Table => Option(table.properties.get("provider")).getOrElse(table.name)
    case other => className(other)
  }

  private def className(format: AnyRef) = format.getClass.getSimpleName.stripSuffix("$")

  private def isFile(table: Table): Boolean = table match {
    case files: FileTable => isFileName(files.formatName)
    case _ => false
  }

  private def isOurs(table: Table): Boolean = table match {
    case _: EncryptedFileTable => true
    case other => Option(other.properties.get("provider")).exists(FormatName.names)
  }
}

/**
 * The format and options of a stream's sink. Spark's file sink takes both and exposes neither, so this reads its
 * fields. Each batch has the options in its plan as well; with this check a query fails when it starts. ''Driver
 * only.''
 */
private[spark] object StreamSinks {

  /** The options that the sink was given. */
  def options(sink: AnyRef): Seq[Map[String, String]] = fields(sink).collect {
    case options: Map[_, _] if options.forall(_._1.isInstanceOf[String]) =>
      options.asInstanceOf[Map[String, String]]
    case options: CaseInsensitiveStringMap => options.asCaseSensitiveMap().asScala.toMap
  }

  def isOurs(sink: AnyRef): Boolean = fields(sink).exists(_.isInstanceOf[EncryptedFileFormat])

  /** The directory of the list of files that a sink of ours keeps next to them. */
  def log(sink: AnyRef): Path = fields(sink)
    .collectFirst { case path: Path if path.getName == SealedTable.StreamLog => path }
    .getOrElse(throw new IllegalStateException("internal error: this Spark's sink keeps its path elsewhere"))

  def formats(sink: AnyRef): Seq[FileFormat] = fields(sink).collect { case format: FileFormat => format }

  private def fields(sink: AnyRef): Seq[AnyRef] =
    try
      sink.getClass.getDeclaredFields.toSeq.flatMap { field =>
        field.setAccessible(true)
        Option(field.get(sink))
      }
    catch {
      // A sink in a Java module that is closed to us is not one of Spark's.
      case _: InaccessibleObjectException => Nil
    }
}

/** Which crypto factory parquet-java finds in a Hadoop configuration. */
private[pmeparquet] object CryptoFactory {

  /** The name of its class. */
  def of(conf: Configuration): Option[String] =
    Option(conf.get(FormatName.CryptoFactorySetting)).filter(_.nonEmpty)

  def isOurs(conf: Configuration): Boolean = of(conf).contains(FormatName.CryptoFactoryClass)
}
