package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

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
  def conditionsOf(node: LogicalPlan): Seq[Expression] = {
    val clauses = node.productIterator.collect { case several: Seq[_] => several }.flatten.collect {
      case clause: Expression if DeltaTable.first(clause, Seq("condition")).isDefined => clause
    }
    (node +: clauses.toSeq)
      .flatMap(one => DeltaTable.first(one, Seq("condition", "mergeCondition")))
      .flatMap {
        case condition: Expression => Seq(condition)
        case Some(condition: Expression) => Seq(condition)
        case _ => Nil
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
