package io.pmeparquet.spark

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, InMemoryFileIndex, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation,
  V2ScanRelationPushDown
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

/**
 * Takes Spark's V2 scan for aggregates that footers answer, where the user asks Spark for that. Spark pushes aggregates
 * into V2 scans only, and only V1 scans have `_metadata`, dynamic partition pruning and bucketed joins: so a read is V1,
 * and becomes V2 here when, and only when, its aggregate was indeed pushed.
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
        relation <- eligible(leaf)
        viaV2 = aggregate.transformDown {
          case same: LogicalRelation if same eq leaf => v2Relation(leaf, relation)
        }
        result = V2ScanRelationPushDown(viaV2)
        if result.collectLeaves().forall(isPushed)
      } yield result
    case _ => None
  }

  // Files listed by a catalog stay with Spark's V1 path, as they do for Spark's own source.
  private def eligible(leaf: LogicalRelation): Option[HadoopFsRelation] = leaf.relation match {
    case relation: HadoopFsRelation
        if relation.fileFormat.isInstanceOf[PmeFileFormat] && relation.location
          .isInstanceOf[InMemoryFileIndex] &&
          !leaf.isStreaming && leaf.output.size == relation.schema.size &&
          PmeSparkException.translated(allowsV2Scan(relation)) =>
      Some(relation)
    case _ => None
  }

  private def allowsV2Scan(relation: HadoopFsRelation): Boolean =
    new ConfResolver(SparkSession.active, originOf(relation))
      .allowsV2Scan(ConfResolver.spelled(relation.options))

  private def originOf(relation: HadoopFsRelation): OptionOrigin = relation.fileFormat match {
    case ours: PmeFileFormat => ours.origin
    case _ => OptionOrigin.Unknown
  }

  private def v2Relation(leaf: LogicalRelation, relation: HadoopFsRelation): LogicalPlan = {
    val options = ConfResolver.spelled(relation.options) - "path" - "paths"
    val table = new PmeTable(
      PmeDataSource.Name,
      SparkSession.active,
      new CaseInsensitiveStringMap(scala.collection.JavaConverters.mapAsJavaMap(options)),
      relation.location.rootPaths.map(_.toString),
      Some(relation.schema),
      originOf(relation)
    )
    val v2 = DataSourceV2Relation.create(table, None, None)
    val byName = leaf.output.map(column => column.name -> column).toMap[String, AttributeReference]
    // The plan above refers to the columns by their ids. Spark's case class has grown from version to version, so the
    // output is put in by position, which has not changed.
    val fields = v2.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    fields(OutputField) = v2.output.map(column => byName(column.name))
    v2.makeCopy(fields)
  }

  private def isPushed(leaf: LogicalPlan): Boolean = leaf match {
    case scan: DataSourceV2ScanRelation =>
      scan.scan match {
        case ours: PmeScan => ours.spark.pushedAggregate.isDefined
        case _ => false
      }
    case _ => false
  }

  private val OutputField = 1
}
