package io.pmeparquet.spark.rules

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeSet,
  BoundReference,
  ExprId,
  Expression,
  PlanExpression
}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.UnionExec

/**
 * Which columns the [[Conditions]] of a plan look at, directly or through other nodes: the columns that conditions
 * name, and those that the plan computes these from, also in subqueries and in the plans of cached data. If this class
 * cannot tell, a column counts as looked at.
 *
 * ''Driver only.''
 */
private[spark] final class ColumnLineage(plan: LogicalPlan) {
  private val ofPlan: Seq[LogicalPlan] = plan.collectWithSubqueries { case node => node }

  /** The nodes of the plans of cached data that the plan reads. */
  val cached: Seq[CachedNode] =
    ofPlan.collect { case relation: InMemoryRelation => relation }.flatMap(CachedNode.of)

  private val nodes: Seq[QueryPlan[_]] = ofPlan ++ cached.map(_.node)

  private val sources: Map[ExprId, Set[ExprId]] =
    nodes.flatMap(derived).groupBy(_._1).map { case (id, all) => id -> ids(all.map(_._2)) }

  private val looked: Set[ExprId] = {
    @tailrec def closure(found: Set[ExprId]): Set[ExprId] = {
      val more = found ++ found.flatMap(sources.getOrElse(_, Set.empty[ExprId]))
      if (more.size == found.size) found else closure(more)
    }
    closure(ids(ofPlan.flatMap(Conditions.of).map(columnsOf)))
  }

  /** The names of those of these columns that conditions look at. */
  def lookedAt(columns: Seq[Attribute]): Set[String] =
    columns.filter(column => looked.contains(column.exprId)).map(_.name).toSet

  private def ids(columns: Seq[AttributeSet]): Set[ExprId] = columns.flatMap(_.map(_.exprId)).toSet

  /** The columns that an expression refers to, with the output of its subqueries. */
  private def columnsOf(expression: Expression): AttributeSet = {
    val inner = expression.collect { case subquery: PlanExpression[_] => subquery.plan }
    expression.references ++ AttributeSet(inner.flatMap { case plan: QueryPlan[_] => plan.output })
  }

  /** The new columns of a node, each with the columns that the node computes it from. */
  private def derived(node: QueryPlan[_]): Seq[(ExprId, AttributeSet)] = node match {
    case union: Union => union.children.flatMap(child => same(union.output, child.output))
    case union: UnionExec => union.children.flatMap(child => same(union.output, child.output))
    case relation: InMemoryRelation => same(relation.output, relation.cachedPlan.output)
    case scan: InMemoryTableScanExec => same(scan.relation.output, scan.relation.cachedPlan.output)
    case reused: ReusedExchangeExec => same(reused.output, reused.child.output)
    case reference: CTERelationRef =>
      ofPlan
        .collect { case definition: CTERelationDef if definition.id == reference.cteId => definition.output }
        .flatMap(same(reference.output, _))
    case leaf if leaf.nodeName == "UnionLoopRef" => loops.flatMap(same(leaf.output, _))
    case leaf if leaf.children.isEmpty => Nil
    case _ =>
      val aliases = node.expressions.flatMap(_.collect { case alias: Alias =>
        alias.exprId -> (if (isOfObject(alias)) node.inputSet else columnsOf(alias) ++ orderOf(node, alias))
      })
      val named = aliases.map(_._1).toSet
      val fresh = node.outputSet -- node.inputSet ++ node.producedAttributes
      val others = fresh.toSeq.map(_.exprId)
      // The expressions of typed operations contain the columns that they produce.
      val used = AttributeSet.fromAttributeSets(node.expressions.map(columnsOf)) -- fresh
      val all = used.isEmpty || node.isInstanceOf[BaseAggregateExec]
      aliases ++ others.filterNot(named.contains).map(_ -> (if (all) node.inputSet else used))
  }

  /** A row number depends on the order of rows, and so may every other nondeterministic expression. */
  private def orderOf(node: QueryPlan[_], alias: Alias): AttributeSet = node match {
    case logical: LogicalPlan if !alias.deterministic =>
      AttributeSet.fromAttributeSets(Conditions.ordersBelow(logical).map(columnsOf))
    case _ => AttributeSet.empty
  }

  /** The outputs of the anchor and the recursion of recursive queries. Spark has such nodes since 4.1. */
  private lazy val loops: Seq[Seq[Attribute]] =
    ofPlan.filter(_.nodeName == "UnionLoop").flatMap(_.children.map(_.output))

  /** Whether the expression reads an object, whose columns it does not name. */
  private def isOfObject(alias: Alias) = alias.collect { case bound: BoundReference => bound }.nonEmpty

  private def same(columns: Seq[Attribute], from: Seq[Attribute]) =
    columns.zip(from).map { case (column, source) => column.exprId -> AttributeSet(Seq(source)) }
}
