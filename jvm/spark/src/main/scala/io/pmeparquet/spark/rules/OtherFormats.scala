package io.pmeparquet.spark.rules

import java.lang.reflect.InaccessibleObjectException
import java.util.concurrent.ConcurrentHashMap

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.command._
import org.apache.spark.sql.execution.datasources.{CreateTable => _, _}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.streaming.sources.{
  WriteToMicroBatchDataSource,
  WriteToMicroBatchDataSourceV1
}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.pmeparquet.options.TellingOptions
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.read.{EncryptedFormat, EncryptedTable}
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Refuses a write in which options of ours reach another format, since whoever gave them believes that the data is
 * encrypted; of a read it warns. Other formats pass over options that they do not know.
 *
 * As a rule of the optimizer it sees what a session writes once the format was used there; with [[PmeExtensions]], which
 * has every plan checked when it is analysed, it sees everything. ''Driver only.''
 */
private[spark] object OtherFormats extends Rule[LogicalPlan] {
  private val logger = LoggerFactory.getLogger("io.pmeparquet")

  override def apply(plan: LogicalPlan): LogicalPlan = {
    check(SparkSession.active, plan)
    plan
  }

  def check(session: => SparkSession, plan: LogicalPlan): Unit = PmeSparkException.translated {
    (plan +: plan.subqueriesAll).foreach(_.foreach { node =>
      writes(node).foreach(refuse(session, _))
      reads(node).flatMap(handed => told(session, handed)).foreach { case (options, format) =>
        if (isNew(s"$format: $options")) logger.warn(PmeErrors.optionsOfOursOnRead(options, format))
      }
    })
  }

  /** Of a table that is made of a query, or added to. Where it is there already, Spark goes on without these options. */
  def checkTable(session: => SparkSession, table: CatalogTable): Unit =
    PmeSparkException.translated(refuse(session, ofTable(table)))

  private def refuse(session: => SparkSession, handed: Handed): Unit =
    told(session, handed).foreach { case (options, format) => throw PmeErrors.optionsOfOurs(options, format) }

  /**
   * Options that a read or write hands to a format.
   *
   * @param isOurs asked only where options tell
   * @param isParquet whether parquet-java may be what writes it
   */
  private class Handed(name: => String, val options: Map[String, String], val isParquet: Boolean)(
      isOurs: => Boolean
  ) {
    // Not before it is needed: some tables cannot be asked.
    def format: String = name
    def ours: Boolean = isOurs
  }

  /** The options of ours, and the format that they reach, where it is another one. */
  private def told(session: => SparkSession, handed: Handed): Option[(Seq[String], String)] = {
    val names = ConfResolver.spelled(handed.options).keys
    // What a factory changes is looked at where it matters: plans are many, and options of ours are rare.
    if (TellingOptions.among(names, parquetEncrypts = false).isEmpty || handed.ours) None
    else {
      val encrypts = handed.isParquet && hasFactory(session, handed.options)
      Some(TellingOptions.among(names, encrypts)).filter(_.nonEmpty).map(_ -> handed.format)
    }
  }

  private def hasFactory(session: SparkSession, options: Map[String, String]): Boolean =
    Option(SparkAccess.hadoopConf(session, options).get("parquet.crypto.factory.class")).exists(_.nonEmpty)

  private def writes(node: LogicalPlan): Seq[Handed] = node match {
    case write: InsertIntoHadoopFsRelationCommand => Seq(ofFiles(write.fileFormat, write.options))
    case save: SaveIntoDataSourceCommand => Seq(ofOther(nameOf(save.dataSource), save.options))
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
    case stream: WriteToStream => StreamSinks.handed(stream.sink).map(ofSink(stream.sink, _))
    case batch: WriteToMicroBatchDataSourceV1 => Seq(ofSink(batch.sink, batch.writeOptions))
    case batch: WriteToMicroBatchDataSource => Seq(ofOther("of the stream's sink", batch.writeOptions))
    // Hive's commands are in a jar that a Spark may lack.
    case hive: Command if hive.getClass.getName.startsWith("org.apache.spark.sql.hive.") =>
      hive.productIterator.collect {
        case table: CatalogTable => ofTable(table)
        case storage: CatalogStorageFormat => ofOther("hive", storage.properties)
      }.toSeq
    case _ => Nil
  }

  private def reads(node: LogicalPlan): Seq[Handed] = node match {
    case relation: LogicalRelation =>
      relation.relation match {
        case files: HadoopFsRelation => Seq(ofFiles(files.fileFormat, files.options))
        case _ => relation.catalogTable.map(ofTable).toSeq
      }
    case relation: DataSourceV2Relation => ofV2(relation, Map.empty)
    // Spark has moved the relation of a stream.
    case leaf: LeafNode => leaf.productIterator.collect { case source: DataSource => ofSource(source) }.toSeq
    case _ => Nil
  }

  private def ofFiles(format: FileFormat, options: Map[String, String]) =
    new Handed(nameOf(format), options, format.isInstanceOf[ParquetFileFormat])(
      format.isInstanceOf[EncryptedFormat]
    )

  private def ofOther(format: String, options: Map[String, String]) =
    new Handed(format, options, isParquet = true)(false)

  private def ofSource(source: DataSource) = ofProvider(source.className, source.options)

  private def ofTable(table: CatalogTable) =
    ofProvider(table.provider.getOrElse("hive"), table.storage.properties)

  private def ofProvider(provider: String, options: Map[String, String]) =
    new Handed(provider, options, isParquet = true)(FormatName.names(provider))

  private def ofSpec(spec: TableSpecBase, options: Map[String, String]): Seq[Handed] = {
    val ofTable = spec match {
      case resolved: TableSpec => resolved.options
      case _ => Map.empty[String, String]
    }
    val provider = spec.provider.getOrElse("of the catalog")
    Seq(options, ofTable).map(ofProvider(provider, _))
  }

  private def ofV2(relation: LogicalPlan, options: Map[String, String]): Seq[Handed] = relation match {
    case v2: DataSourceV2Relation =>
      Seq(options, v2.options.asCaseSensitiveMap().asScala.toMap).map { handed =>
        new Handed(nameOf(v2.table), handed, isParquet = true)(isOurs(v2.table))
      }
    case _ => Seq(ofOther("of the table", options))
  }

  private def ofSink(sink: AnyRef, options: Map[String, String]) =
    new Handed(StreamSinks.nameOf(sink), options, isParquet = true)(
      StreamSinks.isOurs(sink)
    )

  private def isOurs(table: Table): Boolean = table match {
    case _: EncryptedTable => true
    case other => Option(other.properties.get("provider")).exists(FormatName.names)
  }

  private[spark] def nameOf(format: AnyRef): String = format match {
    case registered: DataSourceRegister => registered.shortName()
    case table: Table => Option(table.properties.get("provider")).getOrElse(table.name)
    case other => simpleName(other)
  }

  private[spark] def simpleName(of: AnyRef): String = of.getClass.getSimpleName.stripSuffix("$")

  private val warned = ConcurrentHashMap.newKeySet[String]()
  private val MaxWarned = 1000

  private def isNew(what: String): Boolean = {
    if (warned.size > MaxWarned) warned.clear()
    warned.add(what)
  }
}

/**
 * What the sink of a stream keeps to itself: Spark's sink of files takes format and options, and shows neither. Each batch
 * has its options in its plan; to look here, too, is to fail when the query starts.
 */
private[spark] object StreamSinks {
  def handed(sink: AnyRef): Seq[Map[String, String]] = fields(sink).collect {
    case options: Map[_, _] if options.forall(_._1.isInstanceOf[String]) =>
      options.asInstanceOf[Map[String, String]]
    case options: CaseInsensitiveStringMap => options.asCaseSensitiveMap().asScala.toMap
  }

  def isOurs(sink: AnyRef): Boolean = fields(sink).exists(_.isInstanceOf[EncryptedFormat])

  /** A sink of V1 is a table that throws where it is asked for its name. */
  def nameOf(sink: AnyRef): String =
    fields(sink)
      .collectFirst { case format: FileFormat => OtherFormats.nameOf(format) }
      .getOrElse(OtherFormats.simpleName(sink))

  private def fields(sink: AnyRef): Seq[AnyRef] =
    try
      sink.getClass.getDeclaredFields.toSeq.flatMap { field =>
        field.setAccessible(true)
        Option(field.get(sink))
      }
    catch {
      // A sink in a module that is closed to us is none of Spark's own.
      case _: InaccessibleObjectException => Nil
    }
}
