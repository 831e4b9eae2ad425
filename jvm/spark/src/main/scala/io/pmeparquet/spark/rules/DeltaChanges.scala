package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.expressions.{Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Assignment, LogicalPlan}

/** DELETE, UPDATE and MERGE of a Delta table, whose conditions Delta writes into its log. ''Driver only.'' */
private[rules] object DeltaChanges {
  // As analysis leaves them, and as they are before Delta has replaced them.
  private val Names = Set(
    "DeleteCommand",
    "UpdateCommand",
    "MergeIntoCommand",
    "DeltaDelete",
    "DeltaUpdateTable",
    "DeltaMergeInto",
    "DeleteFromTable",
    "UpdateTable",
    "MergeIntoTable"
  )
  private val Targets = Seq("target", "targetTable", "child", "table")

  def contains(node: LogicalPlan): Boolean = Names.contains(node.getClass.getSimpleName)

  /** The conditions of a statement and of its clauses. */
  def conditionsOf(node: LogicalPlan): Seq[Expression] =
    (node +: clausesOf(node)).flatMap(conditionOf(_))

  /** The same statement with other conditions. */
  def withConditions(node: LogicalPlan, change: Expression => Expression): LogicalPlan =
    node.makeCopy(changed(node, change) {
      case clauses: Seq[_] =>
        clauses.map {
          case clause: Expression if isClause(clause) =>
            clause.makeCopy(changed(clause, change)(identity))
          case other => other
        }
      case other => other
    })

  // By the place in the statement: other places may have the same object.
  private def changed(of: Product with AnyRef, change: Expression => Expression)(
      others: AnyRef => AnyRef
  ): Array[AnyRef] = {
    val condition = conditionIn(of)
    of.productIterator
      .map(_.asInstanceOf[AnyRef])
      .map { one =>
        if (!condition.exists(_ eq one)) others(one)
        else
          one match {
            case expression: Expression => change(expression)
            case Some(expression: Expression) => Some(change(expression))
            case other => other
          }
      }
      .toArray
  }

  private def conditionIn(of: AnyRef): Option[AnyRef] =
    DeltaTable.first(of, Seq("condition", "mergeCondition"))

  private def conditionOf(of: AnyRef): Option[Expression] = conditionIn(of).collect {
    case condition: Expression => condition
    case Some(condition: Expression) => condition
  }

  private def clausesOf(node: LogicalPlan): Seq[Expression] =
    node.productIterator
      .collect { case several: Seq[_] => several }
      .flatten
      .collect { case clause: Expression if isClause(clause) => clause }
      .toSeq

  private def isClause(expression: Expression) = DeltaTable.first(expression, Seq("condition")).isDefined

  /** What the clauses of a MERGE assign, each with the name of the column in the table if it is clear. */
  def assignmentsOf(node: LogicalPlan): Seq[(Option[String], Expression)] = clausesOf(node).flatMap {
    clause =>
      val condition = conditionOf(clause)
      clause.children.filterNot(child => condition.exists(_ eq child)).map {
        case Assignment(key: NamedExpression, value) => Some(key.name) -> value
        case other =>
          DeltaTable.first(other, Seq("targetColNameParts")) match {
            case Some(Seq(name: String, _*)) => Some(name) -> other
            case _ => None -> other
          }
      }
  }

  /** What a statement reads and changes. */
  def plansOf(node: LogicalPlan): Seq[LogicalPlan] =
    node.productIterator.collect { case plan: LogicalPlan => plan }.toSeq

  /** The tables that a node changes. */
  def tablesOf(node: LogicalPlan): Seq[DeltaTable] =
    DeltaTable.first(node, Targets).toSeq.flatMap {
      case plan: LogicalPlan =>
        plan.collect { case one if DeltaTable.of(one).isDefined => DeltaTable.of(one).get }
      case _ => Nil
    }

  /** All Delta tables in some plans. */
  def tablesIn(plans: Seq[LogicalPlan]): Seq[DeltaTable] =
    plans.flatMap(_.collectWithSubqueries { case one => one }).flatMap(DeltaTable.of(_))
}
