package io.pmeparquet.spark.snapshots

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, PlanExpression}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.ScalarSubquery

/** The results of scalar subqueries, which Spark runs before a scan lists its files. ''Driver only.'' */
private[spark] object SubqueryResults {

  /** The filter with values in place of those of its subqueries that have run. */
  def in(filter: Expression): Expression = filter.transform { case subquery: ScalarSubquery =>
    valueOf(subquery).getOrElse(subquery)
  }

  /** Whether a subquery has no result yet. */
  def isMissing(filter: Expression): Boolean = in(filter).exists(_.isInstanceOf[PlanExpression[_]])

  private def valueOf(subquery: ScalarSubquery): Option[Literal] =
    try Some(Literal.create(subquery.eval(InternalRow.empty), subquery.dataType))
    catch {
      // Its requirement that the subquery has run: there is no other way to ask.
      case _: IllegalArgumentException => None
    }
}
