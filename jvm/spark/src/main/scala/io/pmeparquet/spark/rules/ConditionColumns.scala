package io.pmeparquet.spark.rules

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeSet,
  BoundReference,
  Exists,
  ExprId,
  Expression,
  PlanExpression
}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FileSourceScanExec, UnionExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

import io.pmeparquet.options.Masking
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.read.{EncryptedFileFormat, EncryptedFileScan, MaskedColumns}
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeErrors

/**
 * Gives each scan that may mask columns (`deniedColumns=null|drop`) the names of those of its columns that conditions
 * of the whole plan look at. Spark gives a scan only its own filters, and no condition above a limit, a window or an
 * outer join.
 *
 * This rule also removes the bucketing of such a scan: a masked value is not in the bucket that its NULL belongs to.
 *
 * ''Driver only.''
 */
private[spark] object ConditionColumns extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!PlanFields.nodes(plan).exists(concerns)) plan
    else {
      val lineage = new ColumnLineage(plan)
      PmeSparkException.translated(checkCached(lineage))
      plan.transformUpWithSubqueries {
        case leaf @ FileRelation(files, format: EncryptedFileFormat) if maskingOf(files).isDefined =>
          val known = format.withConditions(lineage.lookedAt(leaf.output))
          PlanFields.withRelation(leaf)(_.copy(bucketSpec = None, fileFormat = known)(files.sparkSession))
        case leaf: DataSourceV2ScanRelation =>
          PlanFields.replaced(leaf) {
            case scan: EncryptedFileScan if maskingOf(scan).isDefined =>
              scan.withConditions(lineage.lookedAt(leaf.output))
          }
      }
    }

  private def concerns(node: LogicalPlan): Boolean = node match {
    case relation: LogicalRelation => maskingOf(relation.relation).isDefined
    case leaf: DataSourceV2ScanRelation => maskingOf(leaf.scan).isDefined
    case relation: InMemoryRelation => CachedNode.of(relation).exists(ofCached(_).isDefined)
    case _ => false
  }

  private def ofCached(cached: CachedNode) = cached.node match {
    case scan: FileSourceScanExec => maskingOf(scan.relation)
    case scan: BatchScanExec => maskingOf(scan.scan)
    case _ => None
  }

  /** How files or a scan of ours mask refused columns, and which columns they have masked; none if they mask none. */
  private def maskingOf(read: Any): Option[(Masking, MaskedColumns)] = read match {
    case files: HadoopFsRelation =>
      files.fileFormat match {
        case format: EncryptedFileFormat =>
          PmeSparkException
            .translated(ResolvedOptions.of(files.sparkSession, format.origin, files.options).masking)
            .map(_ -> format.masked)
        case _ => None
      }
    case scan: EncryptedFileScan => scan.masking.map(_ -> scan.masked)
    case _ => None
  }

  /**
   * Fails if a condition looks at a column that a scan of cached data has masked or may mask. That scan ran before it
   * could know of the condition.
   */
  private def checkCached(lineage: ColumnLineage): Unit =
    for {
      cached <- lineage.cached
      (masking, _) <- ofCached(cached) if !masking.inConditions
      name <- lineage.lookedAt(cached.node.output).toSeq.sorted
    } {
      val where = s"cached data, column '$name'"
      val scans = equalScans(cached, lineage)
      def requireUnmasked(): Unit =
        scans
          .flatMap(_.masterKeyOf(name))
          .headOption
          .foreach(key => throw PmeErrors.deniedInCondition(where, key, null))
      requireUnmasked()
      if (!cached.isFilled)
        throw PmeErrors.unsupported(
          where,
          "a condition on this column",
          "the KMS may have refused its key, which is known only after all of the data is cached",
          "Fill the cache first, for example with count(), or set deniedPredicates=null."
        )
      // Spark reads lost blocks again, and the KMS may refuse the key by then.
      scans.foreach(_.noteCondition(name))
      // Such a read may have begun before.
      requireUnmasked()
    }

  /** What a cached scan has masked, and each equal scan that Spark may have run in its place. */
  private def equalScans(cached: CachedNode, lineage: ColumnLineage): Seq[MaskedColumns] =
    lineage.cached
      .filter(_.node.sameResult(cached.node))
      .flatMap(ofCached(_))
      .map { case (_, masked) => masked }
}

/**
 * Which columns the [[Conditions]] of a plan look at, directly or through other nodes: the columns that conditions
 * name, and those that the plan computes these from, also in subqueries and in the plans of cached data. If this class
 * cannot tell, a column counts as looked at.
 *
 * ''Driver only.''
 */
private final class ColumnLineage(plan: LogicalPlan) {
  private val ofPlan: Seq[LogicalPlan] = PlanFields.nodes(plan)

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
    val inner = expression.collect {
      // Only whether there is a row matters, and the conditions of the nodes of its plan decide that.
      case exists: Exists => AttributeSet.fromAttributeSets(exists.joinCond.map(columnsOf))
      case subquery: PlanExpression[_] => AttributeSet(subquery.plan.asInstanceOf[QueryPlan[_]].output)
    }
    expression.references ++ AttributeSet.fromAttributeSets(inner)
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
