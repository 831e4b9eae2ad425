package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import io.pmeparquet.spark.read.{OurFormat, OurScan}

/** Gives a leaf of a plan another format or scan, as rules note something on it. ''Driver only.'' */
private[rules] object LeafField {

  def withFormat(leaf: LogicalRelation, files: HadoopFsRelation, format: OurFormat): LogicalPlan =
    changed(leaf, 0, files.copy(fileFormat = format)(files.sparkSession))

  def withScan(leaf: DataSourceV2ScanRelation, scan: OurScan): LogicalPlan = changed(leaf, 1, scan)

  // Spark's case classes have more fields in each version; relation and scan have kept their positions.
  private def changed(leaf: LogicalPlan, place: Int, value: AnyRef): LogicalPlan = {
    val fields = leaf.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    fields(place) = value
    leaf.makeCopy(fields)
  }
}
