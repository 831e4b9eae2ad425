package io.pmeparquet.spark.rules

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.{FieldName, Star, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions.PlanExpression
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, QualifiedColType}
import org.apache.spark.sql.types.{StringType, StructField}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.PmeErrors

/**
 * Refuses texts that Delta would write into its log, if they name protected columns: conditions in options, constraints,
 * defaults, and expressions of generated columns. ''Driver only.''
 */
private[rules] final class DeltaTexts(session: SparkSession, settings: DeltaSettings) {
  import DeltaTexts._

  /** The options of a write. */
  def requireSilentOptions(table: DeltaTable, options: Map[String, String]): Unit =
    Conditions.foreach { name =>
      valueOf(options, name).foreach(requireSilent(table, name, _))
    }

  def requireSilent(table: DeltaTable, what: String, text: String): Unit =
    refuse(table, what)(hidden => namesIn(text).fold(hidden)(hidden.intersect))

  /** What the schema and the constraints of a table say of its columns. */
  def requireSilentSchema(table: DeltaTable): Unit = {
    requireSilentGenerated(table)
    requireSilentConstraints(table, table.properties)
    requireSilentDefaults(table, table.schema.fields.filter(has(_, Default)).map(_.name).toSeq)
  }

  /** @param properties of the table, or those that a statement sets */
  def requireSilentConstraints(table: DeltaTable, properties: Map[String, String]): Unit =
    properties.foreach { case (name, text) =>
      if (DeltaTable.lower(name).startsWith(Constraints) && text != null)
        requireSilent(table, "a CHECK constraint", text)
    }

  def requireSilentGenerated(table: DeltaTable): Unit =
    for (field <- table.schema.fields; name <- Generated if has(field, name))
      requireSilent(table, "the expression of a generated column", field.metadata.getString(name))

  /** New columns of a table. */
  def requireSilentColumns(table: DeltaTable, added: Seq[QualifiedColType]): Unit = {
    val defaults =
      added.filter(one => DeltaTable.first(one, Seq("default")).exists(_ != None)).map(_.name.head)
    requireSilentDefaults(table.withColumns(defaults.map(StructField(_, StringType))), defaults)
  }

  /** Spark 3.5 has one column in the statement, and newer ones a sequence. */
  def requireSilentChanges(table: DeltaTable, node: LogicalPlan): Unit = {
    val several = DeltaTable.first(node, Seq("specs")).toSeq.flatMap {
      case specs: Seq[_] => specs.collect { case spec: AnyRef => spec }
      case _ => Nil
    }
    for (one <- node +: several; default <- DeltaTable.first(one, NewDefaults))
      default match {
        case Some(text) if text.toString.nonEmpty =>
          DeltaTable.first(one, Seq("column")) match {
            case Some(column: FieldName) => requireSilentDefaults(table, Seq(column.name.head))
            case _ => refuse(table, ADefault)(identity)
          }
        case _ => ()
      }
  }

  private def requireSilentDefaults(table: DeltaTable, columns: Seq[String]): Unit =
    refuse(table, ADefault)(_.intersect(columns.map(DeltaTable.lower).toSet))

  private def refuse(table: DeltaTable, what: String)(named: Set[String] => Set[String]): Unit = {
    val found = named(settings.protectedOf(table))
    if (found.nonEmpty && !settings.allowsText)
      throw PmeErrors.deltaText(table.name, what, found.toSeq.sorted)
  }

  /** Every name in an expression, in lower case; none if it may name others, or cannot be parsed. */
  private def namesIn(text: String): Option[Set[String]] =
    try {
      val parsed = session.sessionState.sqlParser.parseExpression(text)
      val others = parsed.collect {
        case star: Star => star
        case subquery: PlanExpression[_] => subquery
      }
      if (others.nonEmpty) None
      else
        Some(
          parsed
            .collect { case name: UnresolvedAttribute => name.nameParts.map(DeltaTable.lower) }
            .flatten
            .toSet
        )
    } catch { case NonFatal(_) => None }
}

private[rules] object DeltaTexts {
  private val ADefault = "a default"
  private val NewDefaults = Seq("setDefaultExpression", "newDefaultExpression")
  // Options of a write whose text Delta logs. Delta 4 has `replaceOn`.
  private val Conditions = Seq("replaceWhere", "replaceOn")
  // As Delta's log has them, and as Spark's plans have them.
  private val Generated = Seq("delta.generationExpression", "GENERATION_EXPRESSION")
  private val Default = "CURRENT_DEFAULT"
  private val Constraints = "delta.constraints."

  private def has(field: StructField, name: String) = field.metadata.contains(name)

  def valueOf(options: Map[String, String], wanted: String): Option[String] =
    options.collectFirst { case (name, value) if name.equalsIgnoreCase(wanted) => value }
}
