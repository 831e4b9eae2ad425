package io.pmeparquet.spark.snapshots

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.PartitionDirectory

import io.pmeparquet.RecentValues

/**
 * START HERE for skipping. The one place where files are left out, for both of Spark's scans. It remembers what it found
 * for the same filters, so that `EXPLAIN`, the SQL tab and the scan itself list and judge once. ''Driver only.''
 *
 * @param roots of the read
 * @param store a store of Xskipper's that the read names
 */
private[spark] final class Skipping(
    val tables: Seq[SealedTable],
    roots: Seq[Path],
    files: FileSkipping,
    store: Option[StoreSkipping] = None
) {
  import Skipping._

  @volatile private var recent = none

  /** Forgets what it found: the files are listed anew. */
  def refresh(): Unit = recent = none

  def digests: Seq[String] = tables.map(_.digest)

  /**
   * @param listing lists the files that these filters leave
   * @param dataFilters that each row of the result passes
   */
  def choose(partitionFilters: Seq[Expression], dataFilters: Seq[Expression])(
      listing: => Seq[PartitionDirectory]
  ): ChosenFiles = {
    // A subquery of the filters may have a result by now.
    val filters = dataFilters.map(SubqueryResults.in)
    recent.get(Key(partitionFilters, filters)) {
      ChosenFiles.of(listing, roots, tables, files.of(_, filters), StoreSkipping.of(store, filters))
    }
  }

  private def none = new RecentValues[Key, ChosenFiles](MostFilters, Long.MaxValue)
}

private object Skipping {
  private final case class Key(partitionFilters: Seq[Expression], dataFilters: Seq[Expression])

  /** A relation has one scan, which Spark may plan anew with other filters. */
  private val MostFilters = 4
}
