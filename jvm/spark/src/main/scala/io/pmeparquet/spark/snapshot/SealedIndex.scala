package io.pmeparquet.spark.snapshot

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  FileIndex,
  PartitionDirectory,
  PartitionSpec,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeErrors

/**
 * Spark's listing of a relation's files without those that indexes prove to hold no row. ''Driver only.''
 *
 * It overrides what Spark's own indexes have of these methods.
 */
private[spark] trait SkippingFileIndex extends FileIndex {

  /** Spark's own index, which lists and prunes. */
  def spark: FileIndex

  private[snapshot] def skipping: Skipping

  private[snapshot] def digests: Seq[String] = skipping.digests

  /** What Spark lists for a scan. */
  protected def listed(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]
  ): Seq[PartitionDirectory] = spark.listFiles(partitionFilters, dataFilters)

  /** The files that a scan with these filters reads, and the indexes that proved that it needs no others. */
  def chosen(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): ChosenFiles =
    PmeSparkException.translated {
      skipping.choose(partitionFilters, dataFilters)(listed(partitionFilters, dataFilters))
    }

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]
  ): Seq[PartitionDirectory] = chosen(partitionFilters, dataFilters).directories

  override def rootPaths: Seq[Path] = spark.rootPaths
  override def inputFiles: Array[String] = spark.inputFiles
  override def refresh(): Unit = {
    spark.refresh()
    skipping.refresh()
  }
  override def sizeInBytes: Long = spark.sizeInBytes
  override def partitionSchema: StructType = spark.partitionSchema
  override def metadataOpsTimeNs: Option[Long] = spark.metadataOpsTimeNs

  // Spark plans equal scans only once.
  override def equals(other: Any): Boolean = other match {
    case that: SkippingFileIndex =>
      getClass == that.getClass && spark == that.spark && digests == that.digests
    case _ => false
  }
  override def hashCode(): Int = spark.hashCode()
  override def toString: String = s"Sealed(${spark.toString})"
}

/**
 * The files of a relation that is read by snapshots. Spark lists and prunes as it does without; this compares what it has
 * listed with the snapshots, and leaves out files that their indexes prove to hold no row. ''Driver only.''
 *
 * @param isStream whether this is a batch of a stream
 */
private[spark] final class SealedIndex(
    override val spark: FileIndex,
    reads: SnapshotReads,
    private[snapshot] override val skipping: Skipping,
    catalog: Option[CatalogTable],
    isStream: Boolean
) extends SkippingFileIndex {

  override def refresh(): Unit = {
    super.refresh()
    requireListed()
  }

  override protected def listed(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]
  ): Seq[PartitionDirectory] = spark match {
    case lazily: CatalogFileIndex =>
      // The catalog's partitions that the filters leave, with their paths.
      val left = lazily.filterPartitions(partitionFilters)
      require(left)
      left.listFiles(Nil, dataFilters)
    case _ => super.listed(partitionFilters, dataFilters)
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
}

/**
 * What [[SealedIndex]] is to a V1 scan, for a V2 scan, which accepts only this kind of index. Its files were compared with
 * the snapshots before. ''Driver only.''
 */
private[spark] final class SealedFileIndex(
    session: SparkSession,
    override val spark: PartitioningAwareFileIndex,
    private[snapshot] override val skipping: Skipping
) extends PartitioningAwareFileIndex(session, Map.empty, None)
    with SkippingFileIndex {
  override def partitionSpec(): PartitionSpec = spark.partitionSpec()
  override def partitionSchema: StructType = spark.partitionSchema
  override def allFiles(): Seq[FileStatus] = spark.allFiles()

  // Only methods of the base class that are overridden use these.
  override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus] = unused
  override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] = unused
  private def unused = throw new IllegalStateException("internal error: Spark's own index lists the files")
}

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
