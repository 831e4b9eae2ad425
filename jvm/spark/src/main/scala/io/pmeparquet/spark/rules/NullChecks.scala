package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.types.{ArrayType, MapType, StructType}

import io.pmeparquet.spark.read.{EncryptedFormat, PmeScan}

/**
 * Tells each scan of ours of which columns the plan asks only whether they are NULL: `s IS NULL`, `count(s.part)`. Spark
 * reads all parts of such a column, and one of them is enough, whose key the reader has (`StructNulls`). ''Driver
 * only.''
 */
private[spark] object NullChecks extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (plan.collectWithSubqueries { case leaf: LeafNode if concerns(leaf) => leaf }.isEmpty) plan
    else {
      val uses = new FieldUses(plan)
      def checked(leaf: LogicalPlan) =
        leaf.output.filter(hasParts).flatMap(column => uses.checkedIn(column).map(column.name +: _)).toSet
      plan.transformUpWithSubqueries {
        case leaf: LogicalRelation if isOurs(leaf) =>
          PlanFields.withFormat(leaf)(_.withNullChecks(checked(leaf)))
        case leaf: DataSourceV2ScanRelation =>
          ours(leaf).fold[LogicalPlan](leaf) { scan =>
            PlanFields.withScan(leaf, scan.copy(nullChecks = checked(leaf)))
          }
      }
    }

  private def concerns(leaf: LeafNode): Boolean = leaf.output.exists(hasParts) && (leaf match {
    case relation: LogicalRelation => isOurs(relation)
    case relation: DataSourceV2ScanRelation => ours(relation).isDefined
    case _ => false
  })

  private def isOurs(leaf: LogicalRelation): Boolean = leaf.relation match {
    case files: HadoopFsRelation => files.fileFormat.isInstanceOf[EncryptedFormat]
    case _ => false
  }

  private def ours(leaf: DataSourceV2ScanRelation): Option[PmeScan] =
    Some(leaf.scan).collect { case scan: PmeScan => scan }

  private def hasParts(column: Attribute): Boolean = column.dataType match {
    case _: StructType | _: ArrayType | _: MapType => true
    case _ => false
  }
}
