package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Count}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types.{ArrayType, MapType, StructType}

import io.pmeparquet.spark.read.{EncryptedFormat, PmeScan}

/**
 * Tells each scan of ours of which columns the plan asks only whether they are NULL: `s IS NULL`, `count(s.part)`. Spark
 * reads all parts of such a column, and one of them is enough, whose key the reader has (`StructNulls`). ''Driver
 * only.''
 */
private[spark] object NullChecks extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!PlanFields.nodes(plan).exists(concerns)) plan
    else {
      val uses = new FieldUses(plan)
      def checked(leaf: LogicalPlan) =
        leaf.output.filter(hasParts).flatMap(column => uses.checkedIn(column).map(column.name +: _)).toSet
      plan.transformUpWithSubqueries {
        case leaf: LogicalRelation => PlanFields.withFormat(leaf)(_.withNullChecks(checked(leaf)))
        case leaf: DataSourceV2ScanRelation =>
          PlanFields.replaced(leaf) { case scan: PmeScan => scan.copy(nullChecks = checked(leaf)) }
      }
    }

  private def concerns(node: LogicalPlan): Boolean = node match {
    case FileRelation(_, _: EncryptedFormat) => node.output.exists(hasParts)
    case leaf: DataSourceV2ScanRelation if leaf.scan.isInstanceOf[PmeScan] => leaf.output.exists(hasParts)
    case _ => false
  }

  private def hasParts(column: Attribute): Boolean = column.dataType match {
    case _: StructType | _: ArrayType | _: MapType => true
    case _ => false
  }
}

/**
 * What a plan does with columns and with fields of structs: whether it needs values, or asks only whether they are NULL.
 * If this class does not know what a node or an expression does with a column, the plan needs all of it.
 *
 * ''Driver only.''
 */
private final class FieldUses(plan: LogicalPlan) {
  import FieldUses._

  private val nodes: Seq[LogicalPlan] = PlanFields.nodes(plan)

  private val results: Seq[Attribute] = plan.output ++ nodes
    .flatMap(_.expressions.flatMap(_.collect { case subquery: PlanExpression[_] => subquery.plan }))
    .flatMap { case inner: QueryPlan[_] => inner.output }

  /** The parts of a column, as paths below it, of which the plan asks only whether they are NULL. */
  def checkedIn(column: Attribute): Set[Seq[String]] = {
    val uses = usesOf(column.exprId).distinct
    val values = uses.collect { case Use(path, true) => path }
    val checks = uses.collect { case Use(path, false) => path }
    checks.filterNot(path => values.exists(other => other.startsWith(path) || path.startsWith(other))).toSet
  }

  private def usesOf(column: ExprId): Seq[Use] = {
    val shown = if (results.exists(_.exprId == column)) Seq(All) else Nil
    shown ++ nodes.filter(_.children.exists(_.output.exists(_.exprId == column))).flatMap {
      case project: Project =>
        project.projectList.flatMap {
          case passed: Attribute if passed.exprId == column => Nil
          case named @ Alias(Part(`column`, path), _) =>
            usesOf(named.exprId).map(use => use.copy(path = path ++ use.path))
          case other => within(other, column)
        }
      case node @ (_: Filter | _: Aggregate | _: Join | _: Sort | _: GlobalLimit | _: LocalLimit) =>
        node.expressions.flatMap(within(_, column))
      case _ => Seq(All)
    }
  }

  private def within(expression: Expression, column: ExprId): Seq[Use] = expression match {
    case IsNull(Part(`column`, path)) => Seq(Use(path, needsValue = false))
    case IsNotNull(Part(`column`, path)) => Seq(Use(path, needsValue = false))
    case AggregateExpression(Count(counted), _, false, filter, _) =>
      counted.flatMap {
        case Part(`column`, path) => Seq(Use(path, needsValue = false))
        case other => within(other, column)
      } ++ filter.toSeq.flatMap(within(_, column))
    case Part(`column`, path) => Seq(Use(path, needsValue = true))
    case _ if !expression.references.exists(_.exprId == column) => Nil
    case _: PlanExpression[_] | _: LeafExpression => Seq(All)
    case other => other.children.flatMap(within(_, column))
  }
}

private object FieldUses {

  /** @param path below the column */
  private final case class Use(path: Seq[String], needsValue: Boolean)

  private val All = Use(Nil, needsValue = true)

  /** A column, or a field in it, as the column's id and the path below it. */
  private object Part {
    def unapply(expression: Expression): Option[(ExprId, Seq[String])] = expression match {
      case column: AttributeReference => Some(column.exprId -> Nil)
      case field: GetStructField =>
        unapply(field.child).map { case (column, path) =>
          column -> (path :+ field.childSchema(field.ordinal).name)
        }
      case _ => None
    }
  }
}
