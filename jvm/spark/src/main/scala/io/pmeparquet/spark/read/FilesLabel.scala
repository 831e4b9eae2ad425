package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.expressions.Expression

import io.pmeparquet.spark.snapshots.{PartitionsRead, ScannedFiles, SealedIndex, SubqueryResults}

/**
 * What `EXPLAIN` and the SQL tab say of the files of a V1 scan. Nothing is listed before somebody asks; the scan then
 * finds the files that were listed for this. ''Driver only.''
 *
 * @param prunesBuckets whether the scan leaves out more files by their buckets
 */
private[spark] final class FilesLabel(
    index: SealedIndex,
    partitionFilters: Seq[Expression],
    dataFilters: Seq[Expression],
    prunesBuckets: Boolean
) {
  def text: String = {
    val partitions = new PartitionsRead(index.partitionSchema, partitionFilters)
    val atMost = prunesBuckets || partitions.prunesLater || dataFilters.exists(SubqueryResults.isMissing)
    ScannedFiles.text(index.chosen(partitions.static, dataFilters).counted, atMost)
  }
}
