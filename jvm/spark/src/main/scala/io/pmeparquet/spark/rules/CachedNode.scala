package io.pmeparquet.spark.rules

import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.SparkPlan

/** A node of the physical plan of cached data. ''Driver only.'' */
private[spark] final class CachedNode(val node: SparkPlan, relation: InMemoryRelation) {

  /** Whether all of the data is cached, so that Spark has read all files. */
  def isFilled: Boolean = relation.cacheBuilder.isCachedColumnBuffersLoaded
}

private[spark] object CachedNode {

  /** The nodes of the plan of cached data, and of any cached data that this plan reads. */
  def of(relation: InMemoryRelation): Seq[CachedNode] =
    nodesOf(relation.cachedPlan).flatMap { node =>
      val inner = node match {
        case scan: InMemoryTableScanExec => of(scan.relation)
        case _ => Nil
      }
      new CachedNode(node, relation) +: inner
    }

  /** An adaptive plan, which may also be a subquery's, is a leaf to Spark: this looks inside. */
  private def nodesOf(plan: SparkPlan): Seq[SparkPlan] =
    plan.collectWithSubqueries { case node => node }.flatMap {
      case adaptive: AdaptiveSparkPlanExec => nodesOf(adaptive.inputPlan)
      case node => Seq(node)
    }
}
