package io.pmeparquet.spark.rules

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.options.{ConfResolver, OptionOrigin}
import io.pmeparquet.spark.session.{FormatName, PmeSparkException}
import io.pmeparquet.spark.snapshots.SnapshotReads

/**
 * Compares the sealed tables that a stream reads with their snapshots when it starts. Each batch is compared as any read is,
 * but a table of which every file is gone makes no batch. ''Driver only.''
 */
private[spark] object SealedStreams {
  def check(session: SparkSession, plan: LogicalPlan): Unit = plan match {
    case write: WriteToStream =>
      write.inputQuery.collectLeaves().flatMap(sourceOf).foreach { source =>
        PmeSparkException.translated(requireWhole(session, source))
      }
    case _ => ()
  }

  private def requireWhole(session: SparkSession, source: DataSource): Unit = {
    // A table of the catalog may name no KMS, so its options are judged where its batches are read.
    val options = ConfResolver.spelled(source.options)
    val paths = source.paths ++ options.collect { case (name, path) if name.equalsIgnoreCase("path") => path }
    val origin =
      source.catalogTable.fold[OptionOrigin](OptionOrigin.Frame)(OptionOrigin.of(_, hasMore = true))
    paths.distinct.foreach { path =>
      new SnapshotReads(session, new ConfResolver(session, origin), options).requireWhole(new Path(path))
    }
  }

  private def sourceOf(leaf: LogicalPlan): Option[DataSource] = leaf.productIterator.collectFirst {
    case source: DataSource if FormatName.names(source.className) => source
  }
}
