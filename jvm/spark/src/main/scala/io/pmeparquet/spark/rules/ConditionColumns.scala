package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}
import org.apache.spark.sql.sources.BaseRelation

import io.pmeparquet.options.Masking
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.read.{EncryptedFileFormat, EncryptedFileScan, MaskedColumns}
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeErrors

/**
 * Gives each scan that may mask columns (`deniedColumns=null|drop`) the names of those of its columns that conditions
 * of the whole plan look at. Spark gives a scan only its own filters, and no condition above a limit, a window or an
 * outer join.
 *
 * This rule also removes the bucketing of such a scan: a masked value is not in the bucket that its NULL belongs to.
 *
 * ''Driver only.''
 */
private[spark] object ConditionColumns extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (plan.collectWithSubqueries { case leaf: LeafNode if concerns(leaf) => leaf }.isEmpty) plan
    else {
      val lineage = new ColumnLineage(plan)
      PmeSparkException.translated(judgeCached(lineage))
      plan.transformUpWithSubqueries {
        case leaf: LogicalRelation if ours(leaf.relation).isDefined =>
          withConditions(leaf, lineage.lookedAt(leaf.output))
        case leaf: DataSourceV2ScanRelation => withConditions(leaf, lineage.lookedAt(leaf.output))
      }
    }

  private def concerns(leaf: LeafNode): Boolean = leaf match {
    case relation: LogicalRelation => ours(relation.relation).isDefined
    case scan: DataSourceV2ScanRelation => ours(scan).isDefined
    case relation: InMemoryRelation =>
      CachedNode.of(relation).exists(cached => ours(cached.node).isDefined)
    case _ => false
  }

  /** A relation of ours that may mask columns. */
  private def ours(relation: BaseRelation): Option[(HadoopFsRelation, EncryptedFileFormat)] = relation match {
    case files: HadoopFsRelation =>
      files.fileFormat match {
        case format: EncryptedFileFormat if maskingOf(files).isDefined => Some(files -> format)
        case _ => None
      }
    case _ => None
  }

  private def maskingOf(files: HadoopFsRelation): Option[Masking] = PmeSparkException.translated {
    new ConfResolver(files.sparkSession).masking(ConfResolver.spelled(files.options))
  }

  private def ours(relation: DataSourceV2ScanRelation): Option[EncryptedFileScan] = relation.scan match {
    case scan: EncryptedFileScan => Some(scan).filter(_.masking.isDefined)
    case _ => None
  }

  private def withConditions(leaf: LogicalRelation, columns: Set[String]): LogicalPlan =
    ours(leaf.relation).fold[LogicalPlan](leaf) { case (files, format) =>
      val known = format.withConditions(columns)
      PlanFields.withRelation(leaf)(_ =>
        files.copy(bucketSpec = None, fileFormat = known)(files.sparkSession)
      )
    }

  private def withConditions(leaf: DataSourceV2ScanRelation, columns: Set[String]): LogicalPlan =
    ours(leaf).fold[LogicalPlan](leaf)(scan => PlanFields.withScan(leaf, scan.withConditions(columns)))

  /** How a scan in the plan of cached data masks refused columns, and which columns it has masked. */
  private def ours(node: SparkPlan): Option[(Masking, MaskedColumns)] = node match {
    case scan: FileSourceScanExec =>
      for ((files, format) <- ours(scan.relation); masking <- maskingOf(files)) yield masking -> format.masked
    case scan: BatchScanExec =>
      scan.scan match {
        case read: EncryptedFileScan => read.masking.map(_ -> read.masked)
        case _ => None
      }
    case _ => None
  }

  /**
   * Fails if a condition looks at a column that a scan of cached data has masked or may mask. That scan ran before it
   * could know of the condition.
   */
  private def judgeCached(lineage: ColumnLineage): Unit =
    for {
      cached <- lineage.cached
      (masking, _) <- ours(cached.node) if !masking.inConditions
      name <- lineage.lookedAt(cached.node.output).toSeq.sorted
    } {
      val where = s"cached data, column '$name'"
      val scans = equalScans(cached, lineage)
      def requireUnmasked(): Unit =
        scans
          .flatMap(_.masterKeyOf(name))
          .headOption
          .foreach(key => throw PmeErrors.deniedInCondition(where, key, null))
      requireUnmasked()
      if (!cached.isFilled)
        throw PmeErrors.unsupported(
          where,
          "a condition on this column",
          "the KMS may have refused its key, which is known only after all of the data is cached",
          "Fill the cache first, for example with count(), or set deniedPredicates=null."
        )
      // Spark reads lost blocks again, and the KMS may refuse the key by then.
      scans.foreach(_.noteCondition(name))
      // Such a read may have begun before.
      requireUnmasked()
    }

  /** What a cached scan has masked, and each equal scan that Spark may have run in its place. */
  private def equalScans(cached: CachedNode, lineage: ColumnLineage): Seq[MaskedColumns] =
    lineage.cached
      .map(_.node)
      .filter(_.sameResult(cached.node))
      .flatMap(node => ours(node))
      .map { case (_, masked) => masked }
}
