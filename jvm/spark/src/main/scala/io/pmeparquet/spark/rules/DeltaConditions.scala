package io.pmeparquet.spark.rules

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * Which protected columns the conditions of a statement compare with values. Delta writes conditions as text into its log.
 *
 * A part of a condition shows no value only if it compares columns with each other, or with NULL. That is a list of what is
 * harmless, so every other expression, also one that keeps its values out of its children (`LIKE ANY`, `IN`), counts as
 * showing one.
 *
 * A column may have values of a protected one if it is computed from it, compared with it or assigned to it, in the
 * statement or in what the statement reads, or if nobody knows where its values are from. ''Driver only.''
 *
 * @param plans what the statement reads and changes
 * @param assigned what the statement assigns to protected columns
 * @param protectedOf the names of the protected columns of a node that is a table, in lower case
 */
private[rules] final class DeltaConditions(
    plans: Seq[LogicalPlan],
    assigned: Seq[Expression],
    protectedOf: LogicalPlan => Set[String]
) {
  import DeltaConditions._

  private val nodes = plans.flatMap(_.collectWithSubqueries { case node => node })

  private val known: Set[ExprId] = nodes.flatMap(_.output.map(_.exprId)).toSet

  private val definitions: Map[Long, LogicalPlan] =
    nodes.collect { case definition: CTERelationDef => definition.id -> definition.child }.toMap

  private val protectedIds: Set[ExprId] = nodes.flatMap { node =>
    val names = protectedOf(node)
    if (isOfUnknownOrigin(node)) node.output.map(_.exprId)
    else if (names.isEmpty) Nil
    else node.output.filter(column => names.contains(DeltaTable.lower(column.name))).map(_.exprId)
  }.toSet ++ assigned.flatMap(idsOf)

  private def isOfUnknownOrigin(node: LogicalPlan) = node match {
    case ref: CTERelationRef => !definitions.get(ref.cteId).exists(_.output.size == ref.output.size)
    // Rows of a checkpoint or a micro-batch, among others: they may be those of a table.
    case leaf: LeafNode => !Sources(leaf.getClass.getSimpleName)
    case _ => false
  }

  // A node computes columns from others; which of its input a column depends on may not be clear, then it is all.
  private val derived: Seq[(ExprId, Set[ExprId])] = nodes.flatMap { node =>
    val aliases = aliasesOf(node).map(alias => alias.exprId -> idsOf(alias.child))
    val named = aliases.map(_._1).toSet
    val input = node.children.flatMap(_.output.map(_.exprId)).toSet
    val others = node.output.map(_.exprId).filterNot(id => input.contains(id) || named.contains(id))
    aliases ++ others.map(_ -> input)
  }

  // Columns that may have the same values.
  private val equal: Seq[Set[ExprId]] = nodes.flatMap {
    case filter: Filter => partsOf(filter.condition).map(idsOf)
    case join: Join => join.condition.toSeq.flatMap(partsOf).map(idsOf)
    case lateral: LateralJoin => lateral.condition.toSeq.flatMap(partsOf).map(idsOf)
    // Its columns have the ids of its first child.
    case several @ (_: Union | _: SetOperation) => together(several +: several.children)
    case ref: CTERelationRef if !isOfUnknownOrigin(ref) => together(Seq(ref, definitions(ref.cteId)))
    case node => aliasesOf(node).filter(alias => isColumn(alias.child)).map(idsOf(_))
  }

  private def aliasesOf(node: LogicalPlan): Seq[Alias] =
    node.expressions.flatMap(_.collect { case alias: Alias => alias })

  private def together(plans: Seq[LogicalPlan]): Seq[Set[ExprId]] =
    plans.map(_.output.map(_.exprId)).filter(_.nonEmpty).transpose.map(_.toSet)

  /** The names of the protected columns that the conditions would show values of. */
  def shown(conditions: Seq[Expression]): Seq[String] =
    showing(conditions).flatMap { case (_, columns) => columns.map(_.name) }.distinct.sorted

  /** The parts of the conditions that would show values of protected columns, with these columns. */
  def showing(conditions: Seq[Expression]): Seq[(Expression, Seq[Attribute])] = {
    val parts = conditions.filterNot(_.isInstanceOf[Literal]).flatMap(partsOf)
    val links = equal ++ parts.map(idsOf)
    @tailrec def closure(found: Set[ExprId]): Set[ExprId] = {
      val more = found ++
        derived.collect { case (id, from) if from.exists(found.contains) => id } ++
        links.filter(_.exists(isSecret(found, _))).flatten
      if (more.size == found.size) found else closure(more)
    }
    val secret = closure(protectedIds)
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
      case outer: OuterReference => Seq(outer.toAttribute)
      case subquery: PlanExpression[_] =>
        subquery.plan match {
          case plan: LogicalPlan =>
            plan.collectWithSubqueries { case node =>
              node.expressions.flatMap(columnsOf)
            }.flatten ++ plan.output
          case _ => Nil
        }
    }.flatten

  private def idsOf(expression: Expression): Set[ExprId] =
    columnsOf(expression).map(_.exprId).toSet ++ (expression match {
      case alias: Alias => Seq(alias.exprId)
      case _ => Nil
    })
}

private[rules] object DeltaConditions {

  /** Leaves of plans whose rows the statement itself has, or a table of another format. */
  private val Sources = Set(
    "DataSourceV2Relation",
    "HiveTableRelation",
    "LocalRelation",
    "LogicalRelation",
    "OneRowRelation",
    "Range"
  )

  /** Of a DELETE, UPDATE or MERGE. */
  def of(node: LogicalPlan, settings: DeltaSettings): DeltaConditions = {
    val tables = DeltaChanges.tablesOf(node)
    val hidden = tables.flatMap(settings.protectedOf).toSet
    val columns = tables.flatMap(_.schema.fields.map(field => DeltaTable.lower(field.name))).toSet
    val assigned = DeltaChanges.assignmentsOf(node).collect {
      // A column that is not there yet may be protected.
      case (name, value) if !name.map(DeltaTable.lower).exists(one => columns(one) && !hidden(one)) => value
    }
    of(DeltaChanges.plansOf(node), assigned, settings)
  }

  /** @param assigned what a statement assigns to protected columns */
  def of(plans: Seq[LogicalPlan], assigned: Seq[Expression], settings: DeltaSettings): DeltaConditions =
    new DeltaConditions(
      plans,
      assigned,
      node => DeltaTable.of(node).fold(Set.empty[String])(settings.protectedOf)
    )
}
