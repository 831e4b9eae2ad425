package io.pmeparquet.spark.rules

import java.lang.reflect.Modifier
import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{
  DataSource,
  FileFormat,
  HadoopFsRelation,
  InsertIntoHadoopFsRelationCommand,
  LogicalRelation
}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.options.{Asker, ConfResolver, OptionOrigin}
import io.pmeparquet.spark.read.{EncryptedFormat, OurFormat}

/**
 * Sets the origin of the options on each relation and write of ours, from the catalog table that Spark keeps with it.
 * Without this rule, options count as a definition's. ''Driver only.''
 */
private[spark] object TellOrigins extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case relation: LogicalRelation => PlanFields.withOurs(relation)(_.withOrigin(originOf(relation, _)))
    case write: InsertIntoHadoopFsRelationCommand =>
      // Spark keeps a table here if it exists already. If not, this statement creates it.
      PlanFields.withOurs(write)(
        _.withOrigin(format => write.catalogTable.fold(format.originOfNew)(format.originAt))
      )
  }

  private def originOf(relation: LogicalRelation, format: OurFormat): OptionOrigin =
    relation.catalogTable match {
      case Some(table) => format.originAt(table)
      case None if relation.isStreaming => StreamOrigin.ofRunning
      case None => OptionOrigin.Unknown
    }
}

/**
 * Notes, while Spark analyses a statement, where options besides the table's own come from: the statement or the text
 * of a view. If there are no such options it notes nothing, so that relations of a table are equal inside and outside a
 * view, and share cached data. In Spark 3.5 the text of a view has no such options. Only sessions with
 * [[PmeExtensions]] have this rule; without it such options count as a view's. ''Driver only.''
 */
private[spark] final class NoteStatements(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    lazy val isStatement = AnalysisContext.get.nestedViewDepth == 0 && !Asker.isSqlFunction
    plan.resolveOperatorsUp {
      case relation: LogicalRelation if relation.catalogTable.exists(hasMore(relation, _)) =>
        val noted = PlanFields.withOurs(relation)(_.notedOnce(isStatement))
        if ((noted ne relation) && !isStatement) forget(relation)
        noted
      // Spark has made the write from a relation before this rule sees the relation.
      case write: InsertIntoHadoopFsRelationCommand
          if write.catalogTable.exists(OptionOrigin.hasMore(ConfResolver.spelled(write.options), _)) =>
        PlanFields.withOurs(write)(_.notedOnce(isStatement))
    }
  }

  private def hasMore(relation: LogicalRelation, table: CatalogTable): Boolean = relation.relation match {
    case files: HadoopFsRelation => OptionOrigin.hasMore(ConfResolver.spelled(files.options), table)
    case _ => false
  }

  /**
   * Spark 4.0 caches a relation with the options of its first use, and the next statement that names the table gets it.
   */
  private def forget(relation: LogicalRelation): Unit =
    for (table <- relation.catalogTable)
      session.sessionState.catalog.invalidateCachedTable(table.identifier)
}

/**
 * Replaces the format in Spark's case classes. They have more fields in each version, so this finds fields by their
 * type.
 */
private[spark] object PlanFields {

  /** Replaces the files of a relation. */
  def withRelation(node: LogicalPlan)(change: HadoopFsRelation => HadoopFsRelation): LogicalPlan =
    node.makeCopy(node.productIterator.map {
      case files: HadoopFsRelation => change(files)
      case other => other.asInstanceOf[AnyRef]
    }.toArray)

  /** Replaces the options of a relation or a write. */
  def withOptions(
      node: LogicalPlan
  )(change: Map[String, String] => Map[String, String]): LogicalPlan = {
    def changed(files: HadoopFsRelation) = files.copy(options = change(files.options))(files.sparkSession)
    node match {
      case write: InsertIntoHadoopFsRelationCommand => write.copy(options = change(write.options))
      case _ => withRelation(node)(changed)
    }
  }

  /** Replaces the options of a relation of a V2 table. */
  def withV2Options(relation: DataSourceV2Relation, options: Map[String, String]): LogicalPlan =
    relation.makeCopy(relation.productIterator.map {
      case _: CaseInsensitiveStringMap => new CaseInsensitiveStringMap(options.asJava)
      case other => other.asInstanceOf[AnyRef]
    }.toArray)

  /** Replaces the version of Spark that made the table of a relation. */
  def withCreateVersion(relation: HiveTableRelation, version: String): LogicalPlan = {
    def changed(table: CatalogTable): AnyRef = {
      // Each version of Spark has more fields. Those that are not final hold lazy values.
      val names = table.getClass.getDeclaredFields.filter(field => Modifier.isFinal(field.getModifiers))
      val fields = table.productIterator.map(_.asInstanceOf[AnyRef]).toArray
      fields(names.map(_.getName).indexOf("createVersion")) = version
      val maker = table.getClass.getConstructors.filter(_.getParameterCount == fields.length).head
      maker.newInstance(fields: _*).asInstanceOf[AnyRef]
    }
    relation.makeCopy(relation.productIterator.map {
      case table: CatalogTable => changed(table)
      case other => other.asInstanceOf[AnyRef]
    }.toArray)
  }

  /** Replaces the format for encrypted Parquet. */
  def withFormat(node: LogicalPlan)(change: EncryptedFormat => EncryptedFormat): LogicalPlan =
    withFormats(node) { case format: EncryptedFormat => change(format) }

  /** Replaces a format of this project. */
  def withOurs(node: LogicalPlan)(change: OurFormat => OurFormat): LogicalPlan =
    withFormats(node) { case format: OurFormat => change(format) }

  /** Replaces formats. */
  def withFormats(node: LogicalPlan)(change: PartialFunction[FileFormat, FileFormat]): LogicalPlan = {
    def changed(format: FileFormat) = if (change.isDefinedAt(format)) change(format) else format
    val fields = node.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    val others = fields.map {
      case files: HadoopFsRelation =>
        val other = changed(files.fileFormat)
        if (other eq files.fileFormat) files else files.copy(fileFormat = other)(files.sparkSession)
      case format: FileFormat => changed(format)
      case other => other
    }
    val isSame = fields.indices.forall(place => fields(place) eq others(place))
    if (isSame) node else node.makeCopy(others)
  }
}

/** Where the options of a stream come from. When Spark reads a batch, it no longer knows the table of the options. */
private[spark] object StreamOrigin {

  /** The origin for the stream that runs in this thread. */
  def ofRunning: OptionOrigin =
    try analyzed.fold(OptionOrigin.Unknown)(of)
    catch {
      // This Spark implements streams in another way, so we do not know that the options are the user's.
      case NonFatal(_) => OptionOrigin.Unknown
    }

  private def analyzed: Option[LogicalPlan] =
    for {
      id <- Option(SparkSession.active.sparkContext.getLocalProperty(QueryId))
      stream <- Option(running.get(UUID.fromString(id)))
    } yield stream.getClass.getMethod("analyzedPlan").invoke(stream).asInstanceOf[LogicalPlan]

  private def of(plan: LogicalPlan): OptionOrigin = {
    val tables = plan.collectLeaves().flatMap(sourceOf).flatMap(_.catalogTable)
    // Spark 3.5 does not always keep the table, but it keeps the name.
    val named = plan.collect {
      case alias: SubqueryAlias if alias.identifier.qualifier.nonEmpty =>
        alias.collectLeaves().flatMap(sourceOf)
    }.flatten
    if (tables.isEmpty && named.isEmpty) OptionOrigin.Frame
    else if (tables.size == 1) OptionOrigin.of(tables.head, hasMore = true)
    else OptionOrigin.Unknown
  }

  /** The source of a streaming relation, whose class has moved between packages. */
  private def sourceOf(leaf: LogicalPlan): Option[DataSource] = leaf.productIterator.collectFirst {
    case source: DataSource => source
  }

  // Spark does not make this public.
  private def running: ConcurrentHashMap[UUID, AnyRef] = {
    val state = SparkSession.active.sharedState
    state.getClass
      .getMethod("activeStreamingQueries")
      .invoke(state)
      .asInstanceOf[ConcurrentHashMap[UUID, AnyRef]]
  }

  private val QueryId = "sql.streaming.queryId"
}
