package io.pmeparquet.spark.snapshots

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  FileIndex,
  PartitionDirectory,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.types.StructType

import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeErrors

/**
 * The files of a relation that is read by snapshots. Spark lists and prunes as it does without; this compares what it has
 * listed with the snapshots, and leaves out files that their indexes prove to hold no row. ''Driver only.''
 *
 * @param spark Spark's own index
 * @param isStream whether this is a batch of a stream
 */
private[spark] final class SealedIndex(
    val spark: FileIndex,
    reads: SnapshotReads,
    skipping: Skipping,
    catalog: Option[CatalogTable],
    isStream: Boolean
) extends FileIndex {
  private[snapshots] def digests: Seq[String] = skipping.digests

  override def rootPaths: Seq[Path] = spark.rootPaths
  override def inputFiles: Array[String] = spark.inputFiles
  override def refresh(): Unit = {
    spark.refresh()
    skipping.refresh()
    requireListed()
  }
  override def sizeInBytes: Long = spark.sizeInBytes
  override def partitionSchema: StructType = spark.partitionSchema
  override def metadataOpsTimeNs: Option[Long] = spark.metadataOpsTimeNs

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]
  ): Seq[PartitionDirectory] = chosen(partitionFilters, dataFilters).directories

  /** The files that a scan with these filters reads, and the indexes that proved that it needs no others. */
  def chosen(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): ChosenFiles =
    PmeSparkException.translated {
      skipping.choose(partitionFilters, dataFilters)(listed(partitionFilters, dataFilters))
    }

  private def listed(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]) = spark match {
    case lazily: CatalogFileIndex =>
      // The catalog's partitions that the filters leave, with their paths.
      val left = lazily.filterPartitions(partitionFilters)
      require(left)
      left.listFiles(Nil, dataFilters)
    case _ => spark.listFiles(partitionFilters, dataFilters)
  }

  /** Compares the files now, where Spark has listed them. */
  def requireListed(): Unit = spark match {
    case listed: PartitioningAwareFileIndex => require(listed)
    case _: CatalogFileIndex => ()
    case _ if digests.isEmpty => ()
    case other => throw PmeErrors.unknownListing(other.getClass.getName)
  }

  private def require(listed: PartitioningAwareFileIndex): Unit = PmeSparkException.translated {
    reads.require(skipping.tables, listed, catalog, isStream)
  }

  // Spark plans equal scans only once.
  override def equals(other: Any): Boolean = other match {
    case that: SealedIndex => spark == that.spark && digests == that.digests
    case _ => false
  }
  override def hashCode(): Int = spark.hashCode()
  override def toString: String = s"Sealed(${spark.toString})"
}
