package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.{FileSourceStrategy, HadoopFsRelation, LogicalRelation}

import io.pmeparquet.spark.read.EncryptedFormat
import io.pmeparquet.spark.snapshots.{FilesLabel, SealedIndex}

/**
 * Gives our format a scan's filters as expressions, and what `EXPLAIN` says of its files. Spark gives a file format only filters that its public `Filter`
 * classes can express, without `LIKE`, arithmetic or comparisons of columns. Spark plans as usual; in its plan, this
 * strategy replaces the relation's format by one that knows the filters.
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
    case Seq(relation: LogicalRelation) => isOurs(relation.relation)
    case _ => false
  }

  private def isOurs(relation: Any): Boolean = relation match {
    case files: HadoopFsRelation => files.fileFormat.isInstanceOf[EncryptedFormat]
    case _ => false
  }

  private def noted(scan: FileSourceScanExec, isStream: Boolean): SparkPlan = scan.relation.fileFormat match {
    case format: EncryptedFormat =>
      val known = if (scan.dataFilters.isEmpty) format else format.withFilters(scan.dataFilters)
      withFormat(scan, if (isStream) known else labelled(scan, known))
    case _ => scan
  }

  private def labelled(scan: FileSourceScanExec, format: EncryptedFormat) = scan.relation.location match {
    case index: SealedIndex =>
      format.withFiles(
        new FilesLabel(index, scan.partitionFilters, scan.dataFilters, scan.optionalBucketSet.isDefined)
      )
    case _ => format
  }

  private def withFormat(scan: FileSourceScanExec, format: EncryptedFormat): SparkPlan =
    if (format eq scan.relation.fileFormat) scan
    else {
      val relation = scan.relation.copy(fileFormat = format)(scan.relation.sparkSession)
      // Spark's case class has more fields in each version; the relation is still the first.
      val fields = scan.productIterator.map(_.asInstanceOf[AnyRef]).toArray
      fields(0) = relation
      scan.makeCopy(fields)
    }
}
