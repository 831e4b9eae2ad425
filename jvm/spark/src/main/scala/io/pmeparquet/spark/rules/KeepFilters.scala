package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.{FileSourceStrategy, HadoopFsRelation, LogicalRelation}

import io.pmeparquet.spark.read.EncryptedFormat

/**
 * Hands a scan's filters to our format as the expressions that they are. Spark tells a file format only those that it can
 * say in its public filters, without `LIKE`, arithmetic or comparison of columns. Spark plans as ever; in what it plans,
 * the relation's format is replaced by one that knows the filters.
 *
 * ''Driver only.''
 */
private[spark] object KeepFilters extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    if (!readsOurs(plan)) Nil
    else FileSourceStrategy(plan).map(_.transformUp { case scan: FileSourceScanExec => withFilters(scan) })

  // Spark's strategy takes projections and filters over one relation, and leaves all else to others.
  private def readsOurs(plan: LogicalPlan): Boolean = plan.collectLeaves() match {
    case Seq(relation: LogicalRelation) => isOurs(relation.relation)
    case _ => false
  }

  private def isOurs(relation: Any): Boolean = relation match {
    case files: HadoopFsRelation => files.fileFormat.isInstanceOf[EncryptedFormat]
    case _ => false
  }

  private def withFilters(scan: FileSourceScanExec): SparkPlan =
    if (!isOurs(scan.relation) || scan.dataFilters.isEmpty) scan
    else {
      val format = scan.relation.fileFormat.asInstanceOf[EncryptedFormat].withFilters(scan.dataFilters)
      val relation = scan.relation.copy(fileFormat = format)(scan.relation.sparkSession)
      // Spark's case class has grown from version to version; the relation has stayed the first of its fields.
      val fields = scan.productIterator.map(_.asInstanceOf[AnyRef]).toArray
      fields(0) = relation
      scan.makeCopy(fields)
    }
}
