package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Count}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.{
  FileSourceStrategy,
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation
}
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation,
  V2ScanRelationPushDown
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, MapType, StructType}

import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.read.{EncryptedParquetFormat, PmeScan}
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.spark.snapshot.{FilesLabel, SealedIndex}

/**
 * Uses Spark's V2 scan for aggregates that footers can answer, if the user turned that on in Spark. Spark pushes
 * aggregates only into V2 scans, and only V1 scans have `_metadata`, dynamic partition pruning and bucketed joins. So a
 * read starts as V1, and this rule makes it V2 only if Spark pushes its aggregate.
 *
 * ''Driver only.''
 */
private[spark] object AggregatePushDown extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!SQLConf.get.getConf(SQLConf.PARQUET_AGGREGATE_PUSHDOWN_ENABLED)) plan
    else plan.transformDown { case aggregate: Aggregate => pushed(aggregate).getOrElse(aggregate) }

  private def pushed(aggregate: Aggregate): Option[LogicalPlan] = aggregate.collectLeaves() match {
    case Seq(leaf: LogicalRelation) =>
      for {
        (relation, format) <- eligible(leaf)
        viaV2 = aggregate.transformDown {
          case same: LogicalRelation if same eq leaf => v2Relation(leaf, relation, format)
        }
        result = V2ScanRelationPushDown(viaV2)
        if result.collectLeaves().forall(isPushed)
      } yield result
    case _ => None
  }

  // A sealed table stays there too: Spark would read footers that nobody compares. If a catalog lists the files, the
  // read stays on Spark's V1 path, as it does for Spark's own source.
  private def eligible(leaf: LogicalRelation): Option[(HadoopFsRelation, EncryptedParquetFormat)] =
    leaf match {
      case FileRelation(files, format: EncryptedParquetFormat)
          if files.location.isInstanceOf[InMemoryFileIndex] && !leaf.isStreaming &&
            leaf.output.size == files.schema.size &&
            PmeSparkException.translated(allowsV2Scan(files, format)) =>
        Some(files -> format)
      case _ => None
    }

  private def allowsV2Scan(relation: HadoopFsRelation, format: EncryptedParquetFormat): Boolean =
    ResolvedOptions.of(relation.sparkSession, format.origin, relation.options).allowsV2Scan

  private def v2Relation(
      leaf: LogicalRelation,
      relation: HadoopFsRelation,
      format: EncryptedParquetFormat
  ): LogicalPlan = {
    val options = ResolvedOptions.spelled(relation.options) - "path" - "paths"
    val paths = relation.location.rootPaths.map(_.toString)
    val table = format.v2Table(relation.sparkSession, options, paths, relation.schema)
    val v2 = DataSourceV2Relation.create(table, None, None)
    val byName = leaf.output.map(column => column.name -> column).toMap[String, AttributeReference]
    // The plan above refers to the columns by their ids.
    PlanFields.replaced(v2) {
      case output: Seq[_] if output eq v2.output => v2.output.map(column => byName(column.name))
    }
  }

  private def isPushed(leaf: LogicalPlan): Boolean = leaf match {
    case scan: DataSourceV2ScanRelation =>
      scan.scan match {
        case ours: PmeScan => ours.spark.pushedAggregate.isDefined
        case _ => false
      }
    case _ => false
  }
}

/**
 * Gives our format a scan's filters as expressions, and what `EXPLAIN` says of its files. Spark gives a file format only
 * filters that its public `Filter` classes can express, without `LIKE`, arithmetic or comparisons of columns. Spark plans
 * as usual; in its plan, this strategy replaces the relation's format by one that knows the filters.
 *
 * ''Driver only.''
 */
private[spark] object KeepFilters extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    if (!readsOurs(plan)) Nil
    else {
      val isStream = plan.collectLeaves().exists(_.isStreaming)
      FileSourceStrategy(plan).map(_.transformUp { case scan: FileSourceScanExec => noted(scan, isStream) })
    }

  // Spark's strategy plans projections and filters over one relation, and leaves everything else to other strategies.
  private def readsOurs(plan: LogicalPlan): Boolean = plan.collectLeaves() match {
    case Seq(FileRelation(_, _: EncryptedParquetFormat)) => true
    case _ => false
  }

  private def noted(scan: FileSourceScanExec, isStream: Boolean): SparkPlan = scan.relation.fileFormat match {
    case format: EncryptedParquetFormat =>
      val known = if (scan.dataFilters.isEmpty) format else format.withFilters(scan.dataFilters)
      withFormat(scan, if (isStream) known else labelled(scan, known))
    case _ => scan
  }

  private def labelled(scan: FileSourceScanExec, format: EncryptedParquetFormat) =
    scan.relation.location match {
      case index: SealedIndex =>
        format.withFiles(
          new FilesLabel(index, scan.partitionFilters, scan.dataFilters, scan.optionalBucketSet.isDefined)
        )
      case _ => format
    }

  private def withFormat(scan: FileSourceScanExec, format: EncryptedParquetFormat): SparkPlan =
    PlanFields.replaced(scan) {
      case files: HadoopFsRelation if !(format eq files.fileFormat) =>
        files.copy(fileFormat = format)(files.sparkSession)
    }
}

/**
 * Sets on each scan of ours the columns that the plan only tests for NULL: `s IS NULL`, `count(s.part)`. Spark
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
    case FileRelation(_, _: EncryptedParquetFormat) => node.output.exists(hasParts)
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

  /** The parts of a column, as paths below it, that the plan only tests for NULL. */
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
