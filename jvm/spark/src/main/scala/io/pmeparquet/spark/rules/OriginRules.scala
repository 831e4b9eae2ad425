package io.pmeparquet.spark.rules

import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{InsertIntoHadoopFsRelationCommand, LogicalRelation}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.options.{Asker, OptionOrigin, ResolvedOptions}
import io.pmeparquet.spark.read.EncryptedFileFormat

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

  private def originOf(relation: LogicalRelation, format: EncryptedFileFormat): OptionOrigin =
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
      case relation @ FileRelation(files, _) if relation.catalogTable.exists(hasMore(files.options, _)) =>
        val noted = PlanFields.withOurs(relation)(_.notedOnce(isStatement))
        if ((noted ne relation) && !isStatement) forget(relation)
        noted
      // Spark has made the write from a relation before this rule sees the relation.
      case write: InsertIntoHadoopFsRelationCommand if write.catalogTable.exists(hasMore(write.options, _)) =>
        PlanFields.withOurs(write)(_.notedOnce(isStatement))
    }
  }

  private def hasMore(options: Map[String, String], table: CatalogTable) =
    OptionOrigin.hasMore(ResolvedOptions.spelled(options), table)

  /**
   * Spark 4.0 caches a relation with the options of its first use, and the next statement that names the table gets it.
   */
  private def forget(relation: LogicalRelation): Unit =
    for (table <- relation.catalogTable)
      session.sessionState.catalog.invalidateCachedTable(table.identifier)
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
    val tables = plan.collectLeaves().flatMap(PlanFields.sourceOf(_)).flatMap(_.catalogTable)
    // Spark 3.5 does not always keep the table, but it keeps the name.
    val named = plan.collect {
      case alias: SubqueryAlias if alias.identifier.qualifier.nonEmpty =>
        alias.collectLeaves().flatMap(PlanFields.sourceOf(_))
    }.flatten
    if (tables.isEmpty && named.isEmpty) OptionOrigin.Frame
    else if (tables.size == 1) OptionOrigin.of(tables.head, hasMore = true)
    else OptionOrigin.Unknown
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
