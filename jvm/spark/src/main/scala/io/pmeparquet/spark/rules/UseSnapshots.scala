package io.pmeparquet.spark.rules

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{
  FileIndex,
  HadoopFsRelation,
  LogicalRelation,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.read.EncryptedFormat
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshots.{
  NothingSkipped,
  SealState,
  SealedIndex,
  Skipping,
  SnapshotReads,
  StoreSkipping
}

/**
 * Reads tables by their snapshots: finds the snapshot of each relation of ours, compares its files with those that Spark
 * has listed, and notes on the format what tasks must compare. It runs after [[TellOrigins]], since the origin decides
 * which options count. ''Driver only.''
 */
private[spark] object UseSnapshots extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case relation: LogicalRelation =>
      relation.relation match {
        case files: HadoopFsRelation =>
          files.fileFormat match {
            case format: EncryptedFormat if format.sealState == SealState.NotEvaluated =>
              PmeSparkException.translated(judged(relation, files, format))
            case _ => relation
          }
        case _ => relation
      }
  }

  private def judged(
      relation: LogicalRelation,
      files: HadoopFsRelation,
      format: EncryptedFormat
  ): LogicalPlan = {
    val session = SparkSession.active
    val resolver = new ConfResolver(session, format.origin)
    val store = storeOf(session, resolver, files)
    val reads = new SnapshotReads(session, resolver, ConfResolver.spelled(files.options))
    // A catalog can say that partitions are elsewhere, but not that the table has no snapshot.
    val own = relation.catalogTable.flatMap(_.storage.locationUri).map(new Path(_))
    val found = filesOf(files.location)
    val tables =
      reads.tables(files.location.rootPaths ++ own.map(qualified(session, _)), found.contains, found)
    val catalog = relation.catalogTable
    val index = new SealedIndex(
      files.location,
      reads,
      Skipping.of(
        session,
        ConfResolver.spelled(files.options),
        files.dataSchema,
        files.partitionSchema,
        tables,
        files.location.rootPaths,
        store
      ),
      catalog,
      relation.isStreaming
    )
    if (tables.isEmpty && store.isEmpty)
      PlanFields.withFormat(relation)(_.withSeal(SealState.Unsealed))
    else if (tables.isEmpty)
      PlanFields.withRelation(relation) { one =>
        one.copy(location = index, fileFormat = format.withSeal(SealState.Unsealed))(one.sparkSession)
      }
    else {
      index.requireListed()
      PlanFields.withRelation(relation) { one =>
        one.copy(
          location = index,
          fileFormat = format.withSeal(SealState.Sealed(tables, catalog.isDefined)),
          options = NothingSkipped.in(one.options)
        )(one.sparkSession)
      }
    }
  }

  private def qualified(session: SparkSession, path: Path) =
    path.getFileSystem(SparkAccess.hadoopConf(session, Map.empty)).makeQualified(path)

  private def storeOf(session: SparkSession, resolver: ConfResolver, files: HadoopFsRelation) =
    StoreSkipping.of(
      session,
      resolver,
      ConfResolver.spelled(files.options),
      files.dataSchema,
      files.partitionSchema
    )

  /** The files below the roots of a read by path, which Spark has listed. A root may be one of them. */
  private def filesOf(index: FileIndex): Set[Path] = index match {
    case listed: PartitioningAwareFileIndex => listed.allFiles().iterator.map(_.getPath).toSet
    case _ => Set.empty
  }
}
