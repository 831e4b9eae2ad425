package io.pmeparquet.spark

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, ExprId, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.{FileSourceStrategy, HadoopFsRelation, LogicalRelation}

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
    case files: HadoopFsRelation => files.fileFormat.isInstanceOf[PmeFileFormat]
    case _ => false
  }

  /** The same for two scans of one table, whose columns Spark tells apart by ids. */
  def withoutIds(filter: Expression): Expression = filter.transform { case column: AttributeReference =>
    column.withExprId(ExprId(0)).withQualifier(Nil)
  }

  private def withFilters(scan: FileSourceScanExec): SparkPlan =
    if (!isOurs(scan.relation) || scan.dataFilters.isEmpty) scan
    else {
      val format = scan.relation.fileFormat.asInstanceOf[PmeFileFormat].withFilters(scan.dataFilters)
      val relation = scan.relation.copy(fileFormat = format)(scan.relation.sparkSession)
      // Spark's case class has grown from version to version; the relation has stayed the first of its fields.
      val fields = scan.productIterator.map(_.asInstanceOf[AnyRef]).toArray
      fields(0) = relation
      scan.makeCopy(fields)
    }
}
