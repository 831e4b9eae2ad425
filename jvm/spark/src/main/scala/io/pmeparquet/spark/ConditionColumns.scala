package io.pmeparquet.spark

import scala.annotation.tailrec

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Alias, AttributeSet, ExprId, Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Tells each scan that may mask columns (`deniedColumns=null|drop`) which of its columns the conditions of the whole
 * plan look at: filters, joins and what they are computed from. A scan is told its own filters only, and none of a
 * condition that stays above a limit, a window or an outer join.
 *
 * Such a scan is not taken for bucketed either: masked values are not in the bucket that their NULLs belong to.
 *
 * ''Driver only.''
 */
private[spark] object ConditionColumns extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (plan.collectWithSubqueries { case leaf: LeafNode if masks(leaf) => leaf }.isEmpty) plan
    else {
      val looked = lookedAt(plan.collectWithSubqueries { case node => node })
      def names(leaf: LeafNode) = leaf.output.filter(column => looked.contains(column.exprId)).map(_.name).toSet
      plan.transformUpWithSubqueries {
        case leaf: LogicalRelation if masks(leaf) => told(leaf, names(leaf))
        case leaf: DataSourceV2ScanRelation if masks(leaf) => told(leaf, names(leaf))
      }
    }

  private def masks(leaf: LeafNode): Boolean = leaf match {
    case LogicalRelationOf(relation, _) =>
      PmeSparkException.translated {
        new ConfResolver(SparkSession.active).masks(ConfResolver.spelled(relation.options))
      }
    case scan: DataSourceV2ScanRelation =>
      scan.scan match {
        case ours: PmeScan => ours.opening.scope.settings.masking.isDefined
        case _ => false
      }
    case _ => false
  }

  private object LogicalRelationOf {
    def unapply(leaf: LogicalRelation): Option[(HadoopFsRelation, PmeFileFormat)] = leaf.relation match {
      case files: HadoopFsRelation =>
        files.fileFormat match {
          case ours: PmeFileFormat => Some(files -> ours)
          case _ => None
        }
      case _ => None
    }
  }

  private def told(leaf: LogicalRelation, columns: Set[String]): LogicalPlan = leaf match {
    case LogicalRelationOf(files, ours) =>
      val relation = files.copy(bucketSpec = None, fileFormat = ours.withConditions(columns))(files.sparkSession)
      withField(leaf, RelationField, relation)
    case other => other
  }

  private def told(leaf: DataSourceV2ScanRelation, columns: Set[String]): LogicalPlan = leaf.scan match {
    case ours: PmeScan => withField(leaf, ScanField, ours.copy(conditions = Some(columns)))
    case _ => leaf
  }

  // Spark's case classes have grown from version to version; these fields have kept their places.
  private def withField(leaf: LogicalPlan, field: Int, value: AnyRef): LogicalPlan = {
    val fields = leaf.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    fields(field) = value
    leaf.makeCopy(fields)
  }
  private val RelationField = 0
  private val ScanField = 1

  /** The ids of all columns that conditions look at, also by way of what is computed of them. */
  private def lookedAt(nodes: Seq[LogicalPlan]): Set[ExprId] = {
    val sources = nodes.flatMap(derived(_, nodes)).groupBy(_._1).map { case (id, all) => id -> ids(all.map(_._2)) }
    @tailrec def closure(found: Set[ExprId]): Set[ExprId] = {
      val more = found ++ found.flatMap(sources.getOrElse(_, Set.empty[ExprId]))
      if (more.size == found.size) found else closure(more)
    }
    closure(ids(nodes.flatMap(conditions).map(columnsOf)))
  }

  private def ids(columns: Seq[AttributeSet]): Set[ExprId] = columns.flatMap(_.map(_.exprId)).toSet

  private def conditions(node: LogicalPlan): Seq[Expression] = {
    val ofNode = node match {
      case filter: Filter => Seq(filter.condition)
      case join: Join => join.condition.toSeq
      case typed: TypedFilter => typed.expressions
      case _ => Nil
    }
    ofNode ++ node.expressions.flatMap(_.collect { case one: AggregateExpression => one.filter }.flatten)
  }

  /** With what a subquery gives. */
  private def columnsOf(expression: Expression): AttributeSet =
    expression.references ++ AttributeSet(expression.collect { case inner: SubqueryExpression => inner.plan.output }.flatten)

  /** What a node's new columns are computed from. */
  private def derived(node: LogicalPlan, nodes: Seq[LogicalPlan]): Seq[(ExprId, AttributeSet)] = node match {
    case union: Union => union.children.flatMap(child => sameColumns(union, child))
    case reference: CTERelationRef =>
      nodes.collect { case definition: CTERelationDef if definition.id == reference.cteId => definition }
        .flatMap(sameColumns(reference, _))
    case _: LeafNode => Nil
    case _ =>
      val aliases = node.expressions.flatMap(_.collect { case alias: Alias => alias.exprId -> columnsOf(alias) })
      val named = aliases.map(_._1).toSet
      val others = node.producedAttributes.toSeq.map(_.exprId).filterNot(named.contains)
      aliases ++ others.map(_ -> AttributeSet.fromAttributeSets(node.expressions.map(columnsOf)))
  }

  private def sameColumns(node: LogicalPlan, from: LogicalPlan) =
    node.output.zip(from.output).map { case (column, source) => column.exprId -> AttributeSet(Seq(source)) }
}
