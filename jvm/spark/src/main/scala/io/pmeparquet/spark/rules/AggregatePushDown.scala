package io.pmeparquet.spark.rules

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

import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.read.{EncryptedFormat, PmeScan}
import io.pmeparquet.spark.session.PmeSparkException

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

  // A sealed table stays there too: Spark would read footers that nobody compares. If a catalog lists the files, the read stays on Spark's V1 path, as it does for Spark's own source.
  private def eligible(leaf: LogicalRelation): Option[(HadoopFsRelation, EncryptedFormat)] =
    leaf.relation match {
      case relation: HadoopFsRelation
          if relation.location.isInstanceOf[InMemoryFileIndex] &&
            !leaf.isStreaming && leaf.output.size == relation.schema.size =>
        relation.fileFormat match {
          case ours: EncryptedFormat if PmeSparkException.translated(allowsV2Scan(relation, ours)) =>
            Some(relation -> ours)
          case _ => None
        }
      case _ => None
    }

  private def allowsV2Scan(relation: HadoopFsRelation, format: EncryptedFormat): Boolean =
    new ConfResolver(relation.sparkSession, format.origin)
      .allowsV2Scan(ConfResolver.spelled(relation.options))

  private def v2Relation(
      leaf: LogicalRelation,
      relation: HadoopFsRelation,
      format: EncryptedFormat
  ): LogicalPlan = {
    val options = ConfResolver.spelled(relation.options) - "path" - "paths"
    val paths = relation.location.rootPaths.map(_.toString)
    val table = format.v2Table(relation.sparkSession, options, paths, relation.schema)
    val v2 = DataSourceV2Relation.create(table, None, None)
    val byName = leaf.output.map(column => column.name -> column).toMap[String, AttributeReference]
    // The plan above refers to the columns by their ids. Spark's case class has more fields in each version, but the
    // position of the output has not changed, so this sets it by position.
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
