package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.objects.InvokeLike
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.WriteFiles
import org.apache.spark.sql.execution.streaming.continuous.WriteToContinuousDataSource
import org.apache.spark.sql.execution.streaming.sources.{
  WriteToMicroBatchDataSource,
  WriteToMicroBatchDataSourceV1
}
import org.apache.spark.sql.execution.SortExec
import org.apache.spark.sql.types._

/**
 * The expressions of a plan that choose: which rows there are, how many, in which groups, and which value of several is
 * the result. An expression that computes NULL from NULL is not a condition: [[Choices]] distinguishes the two.
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
    // `ofExpressions` finds these. Spark refuses a MERGE whose conditions are not deterministic.
    case _: Generate | _: BaseEvalPythonUDTF | _: MergeRows => Nil
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

/**
 * The parts of an expression that choose by the values that they read. Over NULLs they would choose wrongly, without an
 * error.
 *
 * Two kinds of expressions do not choose: those that are NULL where an input is NULL, and those that pass an input on,
 * for example as a field of a struct. This object knows both. Every other expression counts as one that chooses, also a
 * user's function, and one from a newer Spark. (`docs/decisions/0032` has the reasons.)
 *
 * ''Driver only.''
 */
private[rules] object Choices {

  def of(expression: Expression): Seq[Expression] = expression match {
    case one if !reads(one) => Nil
    case _: Attribute | _: OuterReference | _: NamedLambdaVariable | _: ScalarSubquery => Nil
    // Only as a result: in another function it could choose, as in `id * int(ssn IS NULL)`.
    case Alias(test @ (_: IsNull | _: IsNotNull), _) => test.children.flatMap(of)
    case one: AggregateExpression =>
      one.filter.filter(reads).toSeq ++ (if (one.isDistinct) Seq(one) else ofAggregate(one.aggregateFunction))
    case WindowExpression(function, window) =>
      of(function) ++ (window.partitionSpec ++ window.orderSpec.map(_.child)).filter(reads)
    case function: OffsetWindowFunction =>
      (if (function.ignoreNulls) Seq(function.input).filter(reads) else of(function.input)) ++ of(
        function.default
      )
    case one: MergeRows.Instruction => Seq(one.condition).filter(reads) ++ one.outputs.flatten.flatMap(of)
    case NullGuard(tested, value) if readsOnly(value, tested) || isStrictlyOf(value, tested) =>
      Seq(tested, value).flatMap(of)
    case If(predicate, value, otherwise) => Seq(predicate).filter(reads) ++ of(value) ++ of(otherwise)
    case CaseWhen(branches, otherwise) =>
      branches.map(_._1).filter(reads) ++ (branches.map(_._2) ++ otherwise).flatMap(of)
    case Coalesce(values) => values.init.filter(reads) ++ of(values.last)
    case function: HigherOrderFunction => ofLambda(function)
    case one if passesOn(one) || isNullForNull(one) => one.children.flatMap(of)
    case unknown => Seq(unknown)
  }

  private def ofAggregate(function: AggregateFunction): Seq[Expression] = function match {
    case by: MaxMinBy => Seq(by.orderingExpr).filter(reads) ++ of(by.valueExpr)
    case _: Min | _: Max if !function.children.exists(hides) => function.children.flatMap(of)
    case _: Count | _: Sum | _: Average | _: CentralMomentAgg | _: Covariance | _: BitAggregate =>
      function.children.flatMap(of)
    case _: First | _: Last | _: CollectList => function.children.flatMap(of)
    case unknown => Seq(unknown)
  }

  /** The variables of a lambda are not columns that one could follow, so a lambda that chooses counts as a whole. */
  private def ofLambda(function: HigherOrderFunction): Seq[Expression] = function match {
    case _: ArrayTransform | _: TransformKeys | _: TransformValues | _: ZipWith | _: MapZipWith
        if function.functions.forall(of(_).isEmpty) && !function.arguments.exists(hasKeysThatHide) =>
      function.arguments.flatMap(of)
    case _ => Seq(function)
  }

  private def hasKeysThatHide(argument: Expression) = argument.dataType match {
    case map: MapType => isNested(map.keyType)
    case _ => false
  }

  /** Whether the result holds an input, and nothing that depends on what the input is. */
  private def passesOn(expression: Expression): Boolean = expression match {
    case _: Alias | _: SortOrder | _: LambdaFunction | _: TaggingExpression | _: ToPrettyString => true
    case _: CreateNamedStruct | _: CreateArray | _: CreateMap | _: MapFromArrays | _: ArraysZip => true
    case _: Concat | _: Reverse | _: MapKeys | _: MapValues | _: MapEntries => true
    case _: ExtractValue | _: ElementAt => !expression.children.drop(1).exists(hides)
    case cast: Cast => isNested(cast.dataType) || !hides(cast.child)
    case _ => false
  }

  /** Whether the result is NULL, or the same for each value, where an input is NULL. */
  private def isNullForNull(expression: Expression): Boolean = {
    val known = expression match {
      case _: LeafExpression => false
      case _: And | _: Or | _: In | _: InSet => true
      case _: RoundBase | _: String2TrimExpression | _: TruncInstant | _: ToTimestamp | _: GetJsonObject =>
        true
      case call: InvokeLike => call.propagateNull
      case _ => isStrict(expression)
    }
    known && !expression.children.exists(hides)
  }

  /** Whether a value that is not NULL may hold a NULL that stands for another value. */
  private def hides(expression: Expression): Boolean =
    isNested(expression.dataType) && reads(expression) && (passesOn(expression) || !isNullForNull(expression))

  private def isNested(dataType: DataType): Boolean = dataType match {
    case _: StructType | _: ArrayType | _: MapType | _: UserDefinedType[_] | ObjectType(_) => true
    case _ => false
  }

  /** Whether the expression looks at a row. */
  private def reads(expression: Expression): Boolean = expression.exists {
    case _: Attribute | _: OuterReference | _: NamedLambdaVariable | _: BoundReference => true
    case _: PlanExpression[_] => true
    case _ => false
  }

  /** Whether a value contains the tested one, and nothing else. */
  private def readsOnly(value: Expression, tested: Expression): Boolean =
    reads(value) && !reads(value.transform {
      case same if same.semanticEquals(tested) => Literal(null, same.dataType)
    })

  /** Whether a value is NULL where the tested one is. */
  private def isStrictlyOf(value: Expression, tested: Expression): Boolean =
    value.semanticEquals(tested) || isNullForNull(value) && value.children.exists(isStrictlyOf(_, tested))

  /** A value that is replaced by NULL where another is NULL. Spark writes such guards around fields of a struct. */
  private object NullGuard {
    def unapply(expression: Expression): Option[(Expression, Expression)] = expression match {
      case If(IsNull(tested), Literal(null, _), value) => Some(tested -> value)
      case If(IsNotNull(tested), value, Literal(null, _)) => Some(tested -> value)
      case CaseWhen(Seq((IsNull(tested), Literal(null, _))), Some(value)) => Some(tested -> value)
      // What is left of `tested < x`, where x is more than any value of the type.
      case And(IsNull(tested), Literal(null, _)) => Some(tested -> tested)
      case Or(IsNotNull(tested), Literal(null, _)) => Some(tested -> tested)
      case _ => None
    }
  }

  /** Whether Spark says, or the class shows, that the result is NULL if an input is. */
  private def isStrict(expression: Expression): Boolean =
    saysStrict(expression) || evaluatesOnlyValues(expression)

  // A trait in Spark 3.5, a method in Spark 4.
  private lazy val saysStrict: Expression => Boolean =
    classOf[Expression].getMethods.find(_.getName == "nullIntolerant") match {
      case Some(method) => expression => method.invoke(expression) == java.lang.Boolean.TRUE
      case None =>
        val declared = Class.forName("org.apache.spark.sql.catalyst.expressions.package$NullIntolerant")
        declared.isInstance(_)
    }

  /** The `eval` of these classes returns NULL without a call of the function if an input is NULL. */
  private val EvaluatingValues: Set[Class[_]] =
    Set(
      classOf[UnaryExpression],
      classOf[BinaryExpression],
      classOf[TernaryExpression],
      classOf[QuaternaryExpression],
      classOf[SeptenaryExpression]
    )

  private def evaluatesOnlyValues(expression: Expression): Boolean =
    EvaluatingValues(expression.getClass.getMethod("eval", classOf[InternalRow]).getDeclaringClass)
}
