package io.pmeparquet.spark.rules

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Which protected columns the conditions of a statement compare with values. Delta writes conditions as text into its log.
 *
 * A part of a condition shows no value only if it compares columns with each other, or with NULL. That is a list of what is
 * harmless, so every other expression, also one that keeps its values out of its children (`LIKE ANY`, `IN`), counts as
 * showing one. ''Driver only.''
 *
 * @param plans what the statement reads and changes
 * @param protectedOf the names of the protected columns of a node that is a table, in lower case
 */
private[rules] final class DeltaConditions(
    plans: Seq[LogicalPlan],
    protectedOf: LogicalPlan => Set[String]
) {
  private val nodes = plans.flatMap(_.collectWithSubqueries { case node => node })

  private val known: Set[ExprId] = nodes.flatMap(_.output.map(_.exprId)).toSet

  private val ofTables: Set[ExprId] = nodes.flatMap { node =>
    val names = protectedOf(node)
    if (names.isEmpty) Nil
    else node.output.filter(column => names.contains(DeltaTable.lower(column.name))).map(_.exprId)
  }.toSet

  // A node computes columns from others; which of its input a column depends on may not be clear, then it is all.
  private val derived: Seq[(ExprId, Set[ExprId])] = nodes.flatMap { node =>
    val aliases = node.expressions.flatMap(_.collect { case alias: Alias =>
      alias.exprId -> idsOf(alias.child)
    })
    val named = aliases.map(_._1).toSet
    val input = node.children.flatMap(_.output.map(_.exprId)).toSet
    val others = node.output.map(_.exprId).filterNot(id => input.contains(id) || named.contains(id))
    aliases ++ others.map(_ -> input)
  }

  private val protectedIds: Set[ExprId] = {
    @tailrec def closure(found: Set[ExprId]): Set[ExprId] = {
      val more = found ++ derived.collect { case (id, from) if from.exists(found.contains) => id }
      if (more.size == found.size) found else closure(more)
    }
    closure(ofTables)
  }

  /** The names of the protected columns that the conditions would show values of. */
  def shown(conditions: Seq[Expression]): Seq[String] =
    showing(conditions).flatMap { case (_, columns) => columns.map(_.name) }.distinct.sorted

  /** The parts of the conditions that would show values of protected columns, with these columns. */
  def showing(conditions: Seq[Expression]): Seq[(Expression, Seq[Attribute])] = {
    val parts = conditions.filterNot(_.isInstanceOf[Literal]).flatMap(partsOf)
    // A column that is compared with a protected one has its values.
    @tailrec def linked(found: Set[ExprId]): Set[ExprId] = {
      val more = found ++ parts.map(idsOf).filter(_.exists(isSecret(found, _))).flatten
      if (more.size == found.size) found else linked(more)
    }
    val secret = linked(protectedIds)
    for {
      part <- parts if !isHarmless(part)
      columns = columnsOf(part).filter(column => isSecret(secret, column.exprId)) if columns.nonEmpty
    } yield part -> columns
  }

  /** A column of unknown origin may be any. */
  private def isSecret(secret: Set[ExprId], id: ExprId) = secret.contains(id) || !known.contains(id)

  private def partsOf(condition: Expression): Seq[Expression] = condition match {
    case And(left, right) => partsOf(left) ++ partsOf(right)
    case Or(left, right) => partsOf(left) ++ partsOf(right)
    case Not(child) => partsOf(child)
    case part => Seq(part)
  }

  private def isHarmless(part: Expression): Boolean = part match {
    case _: Redacted => true
    case IsNull(child) => isColumn(child)
    case IsNotNull(child) => isColumn(child)
    case comparison: BinaryComparison => isColumn(comparison.left) && isColumn(comparison.right)
    case _ => false
  }

  private def isColumn(side: Expression): Boolean = side match {
    case _: Attribute => true
    case Literal(null, _) => true
    case cast: Cast => isColumn(cast.child)
    case field: GetStructField => isColumn(field.child)
    case _ => false
  }

  private def columnsOf(expression: Expression): Seq[Attribute] =
    expression.collect {
      case column: Attribute => Seq(column)
      case subquery: PlanExpression[_] =>
        subquery.plan match {
          case plan: LogicalPlan =>
            plan.collectWithSubqueries { case node =>
              node.expressions.flatMap(columnsOf)
            }.flatten ++ plan.output
          case _ => Nil
        }
    }.flatten

  private def idsOf(expression: Expression): Set[ExprId] = columnsOf(expression).map(_.exprId).toSet
}

private[rules] object DeltaConditions {

  /** @param plans what a statement reads and changes */
  def of(plans: Seq[LogicalPlan], settings: DeltaSettings): DeltaConditions =
    new DeltaConditions(plans, node => DeltaTable.of(node).fold(Set.empty[String])(settings.protectedOf))
}
