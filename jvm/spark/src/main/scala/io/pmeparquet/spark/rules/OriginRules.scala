package io.pmeparquet.spark.rules

import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{
  DataSource,
  HadoopFsRelation,
  InsertIntoHadoopFsRelationCommand,
  LogicalRelation
}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.options.{Asker, ConfResolver, OptionOrigin}
import io.pmeparquet.spark.read.EncryptedFormat

/**
 * Tells each relation and write of ours whose its options are, by the table of the catalog that Spark notes with them.
 * What it has not told takes its options for a definition's. ''Driver only.''
 */
private[spark] object TellOrigins extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case relation: LogicalRelation => PlanFields.withFormat(relation)(_.withOrigin(originOf(relation, _)))
    case write: InsertIntoHadoopFsRelationCommand =>
      // Spark notes a table where one is there already; else it is this statement that makes it.
      PlanFields.withFormat(write)(
        _.withOrigin(format => write.catalogTable.fold(format.originOfNew)(format.originAt))
      )
  }

  private def originOf(relation: LogicalRelation, format: EncryptedFormat): OptionOrigin =
    relation.catalogTable match {
      case Some(table) => format.originAt(table)
      case None if relation.isStreaming => StreamOrigin.ofRunning
      case None => OptionOrigin.Unknown
    }
}

/**
 * Notes, while a statement is analysed, whether options that a relation or write has beside its table's own were given to
 * the statement or stand in the text of a view. Where there are none it notes nothing: relations of a table then are the
 * same in a view and outside, and share what is cached. Spark 3.5 knows no such text. Only sessions with
 * [[PmeExtensions]] have this rule; without it such options count as a view's. ''Driver only.''
 */
private[spark] final class NoteStatements(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    lazy val isStatement = AnalysisContext.get.nestedViewDepth == 0 && !Asker.isSqlFunction
    plan.resolveOperatorsUp {
      case relation: LogicalRelation if relation.catalogTable.exists(hasMore(relation, _)) =>
        val noted = PlanFields.withFormat(relation)(_.notedOnce(isStatement))
        if ((noted ne relation) && !isStatement) forget(relation)
        noted
      // Spark has made it of a relation before this rule sees one.
      case write: InsertIntoHadoopFsRelationCommand
          if write.catalogTable.exists(OptionOrigin.hasMore(ConfResolver.spelled(write.options), _)) =>
        PlanFields.withFormat(write)(_.notedOnce(isStatement))
    }
  }

  private def hasMore(relation: LogicalRelation, table: CatalogTable): Boolean = relation.relation match {
    case files: HadoopFsRelation => OptionOrigin.hasMore(ConfResolver.spelled(files.options), table)
    case _ => false
  }

  /** Spark 4.0 keeps a relation with the options that it was first resolved with, for whoever names the table next. */
  private def forget(relation: LogicalRelation): Unit =
    for (table <- relation.catalogTable)
      session.sessionState.catalog.invalidateCachedTable(table.identifier)
}

/** Spark's case classes have grown from version to version, so their fields are put in by what they hold. */
private[spark] object PlanFields {
  def withFormat(node: LogicalPlan)(change: EncryptedFormat => EncryptedFormat): LogicalPlan = {
    val fields = node.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    val changed = fields.map {
      case files: HadoopFsRelation =>
        files.fileFormat match {
          case format: EncryptedFormat =>
            val other = change(format)
            if (other eq format) files else files.copy(fileFormat = other)(files.sparkSession)
          case _ => files
        }
      case format: EncryptedFormat => change(format)
      case other => other
    }
    val isSame = fields.indices.forall(place => fields(place) eq changed(place))
    if (isSame) node else node.makeCopy(changed)
  }
}

/** Whose the options of a stream are. A batch of it is read with options of which Spark no longer knows the table. */
private[spark] object StreamOrigin {

  /** Of the stream that runs in this thread. */
  def ofRunning: OptionOrigin =
    try analyzed.fold(OptionOrigin.Unknown)(of)
    catch {
      // A Spark whose streams are made otherwise: its options are then not known to be the user's.
      case NonFatal(_) => OptionOrigin.Unknown
    }

  private def analyzed: Option[LogicalPlan] =
    for {
      id <- Option(SparkSession.active.sparkContext.getLocalProperty(QueryId))
      stream <- Option(running.get(UUID.fromString(id)))
    } yield stream.getClass.getMethod("analyzedPlan").invoke(stream).asInstanceOf[LogicalPlan]

  private def of(plan: LogicalPlan): OptionOrigin = {
    val tables = plan.collectLeaves().flatMap(sourceOf).flatMap(_.catalogTable)
    // Spark 3.5 has not always noted the table, but its name.
    val named = plan.collect {
      case alias: SubqueryAlias if alias.identifier.qualifier.nonEmpty =>
        alias.collectLeaves().flatMap(sourceOf)
    }.flatten
    if (tables.isEmpty && named.isEmpty) OptionOrigin.Frame
    else if (tables.size == 1) OptionOrigin.of(tables.head, hasMore = true)
    else OptionOrigin.Unknown
  }

  /** Of a relation that is a stream, whose class has moved from package to package. */
  private def sourceOf(leaf: LogicalPlan): Option[DataSource] = leaf.productIterator.collectFirst {
    case source: DataSource => source
  }

  // Not for everybody, as Spark has it.
  private def running: ConcurrentHashMap[UUID, AnyRef] = {
    val state = SparkSession.active.sharedState
    state.getClass
      .getMethod("activeStreamingQueries")
      .invoke(state)
      .asInstanceOf[ConcurrentHashMap[UUID, AnyRef]]
  }

  private val QueryId = "sql.streaming.queryId"
}
