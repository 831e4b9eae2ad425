package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.WriteFiles
import org.apache.spark.sql.execution.streaming.continuous.WriteToContinuousDataSource
import org.apache.spark.sql.execution.streaming.sources.{
  WriteToMicroBatchDataSource,
  WriteToMicroBatchDataSourceV1
}
import org.apache.spark.sql.execution.SortExec

/**
 * The expressions of a plan that choose: which rows there are, how many, in which groups, and which value of several is
 * the result. An expression that computes NULL from NULL is not a condition: [[Choices]] tells the two apart.
 *
 * This object lists the nodes whose rows do not depend on values. Every other node, also one from a newer Spark or an
 * extension, counts as looking at all of its input. (`docs/decisions/0032` has the reasons.)
 *
 * ''Driver only.''
 */
private[spark] object Conditions {

  /** The conditions of one node. */
  def of(node: LogicalPlan): Seq[Expression] = {
    val found = ofNode(node) ++ ofExpressions(node)
    // A nondeterministic expression may depend on the position of a row: its number, its partition, a random sequence.
    if (node.isInstanceOf[Sample] || takesFirst(node) || !found.forall(_.deterministic))
      found ++ ordersBelow(node)
    else found
  }

  /** Whether the result of a node may depend on which of its rows come first. */
  private def takesFirst(node: LogicalPlan): Boolean = node match {
    case _: Deduplicate | _: DeduplicateWithinWatermark => true
    // Rows that are equal in the window's own order.
    case _: Window | _: WindowGroupLimit => true
    case _ =>
      node.expressions.exists(_.exists {
        case one: AggregateExpression => !isOfAnyOrder(one.aggregateFunction)
        case _ => false
      })
  }

  /**
   * Whether the order of rows does not matter. Any other function may keep the first row, like `first` or a user's own.
   */
  private def isOfAnyOrder(function: AggregateFunction): Boolean = function match {
    case _: Count | _: Sum | _: Average | _: Min | _: Max => true
    case _: CentralMomentAgg | _: HyperLogLogPlusPlus | _: BitAggregate => true
    case _ => false
  }

  private def ofNode(node: LogicalPlan): Seq[Expression] = node match {
    case filter: Filter => Seq(filter.condition)
    case typed: TypedFilter => typed.expressions
    case join: Join => join.condition.toSeq
    case aggregate: Aggregate => aggregate.groupingExpressions
    case deduplicated: Deduplicate => deduplicated.keys
    case deduplicated: DeduplicateWithinWatermark => deduplicated.keys
    case limit: WindowGroupLimit => limit.partitionSpec ++ limit.orderSpec
    // Spark drops late rows.
    case watermark: EventTimeWatermark => Seq(watermark.eventTime)
    // `ofExpressions` finds these.
    case _: Generate | _: BaseEvalPythonUDTF => Nil
    case merge: MergeRows =>
      merge.expressions.flatMap(_.collect { case one: MergeRows.Instruction => one.condition })
    // The sort order decides which rows come first.
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail => ordersBelow(node)
    case _ if keepsRows(node) => Nil
    case _ => node.expressions ++ node.inputSet
  }

  /** Whether a node outputs every input row equally often, whatever its values. */
  private def keepsRows(node: LogicalPlan): Boolean = node match {
    case _: LeafNode | _: Command => true
    case _: Project | _: Window | _: Expand | _: Sample | _: Union | _: Sort => true
    case _: RepartitionOperation | _: RebalancePartitions => true
    case _: Subquery | _: SubqueryAlias | _: View | _: WithCTE | _: CTERelationDef => true
    case _: ResolvedHint | _: ReturnAnswer | _: CollectMetrics | _: AttachDistributedSequence => true
    case _: BaseEvalPython => true
    case _: WriteFiles | _: WriteToContinuousDataSource => true
    case _: WriteToMicroBatchDataSource | _: WriteToMicroBatchDataSourceV1 => true
    case _ if KeepRowsByName(node.nodeName) => true
    case _ => isOfObjects(node)
  }

  /** Nodes that not every Spark has, or that code in other packages cannot name. */
  private val KeepRowsByName = Set("UnionLoop", "WriteToDataSourceV2")

  /** Between rows and objects. Spark wrote all of the expressions. */
  private def isOfObjects(node: LogicalPlan): Boolean = node match {
    case _: DeserializeToObject | _: SerializeFromObject => true
    case _ => false
  }

  private def ofExpressions(node: LogicalPlan): Seq[Expression] =
    if (isOfObjects(node)) Nil else node.expressions.flatMap(Choices.of)

  /** The expressions that the rows of a plan may be sorted or partitioned by. */
  def ordersBelow(plan: LogicalPlan): Seq[Expression] = plan.collect {
    case sort: Sort => sort.order
    case spread: HasPartitionExpressions => spread.partitionExpressions
    case cached: InMemoryRelation =>
      CachedNode
        .of(cached)
        .map(_.node)
        .collect { case sort: SortExec if sort.global => sort.sortOrder }
        .flatten
  }.flatten
}
