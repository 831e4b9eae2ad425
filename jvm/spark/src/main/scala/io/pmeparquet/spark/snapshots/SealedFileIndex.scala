package io.pmeparquet.spark.snapshots

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{
  PartitionDirectory,
  PartitionSpec,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.PmeSparkException

/**
 * What [[SealedIndex]] is to a V1 scan, for a V2 scan: Spark's listing without the files that indexes prove to hold no
 * row. Spark's V2 scan accepts only this kind of index. ''Driver only.''
 *
 * @param spark Spark's own index, whose files were compared with the snapshots
 */
private[spark] final class SealedFileIndex(
    session: SparkSession,
    val spark: PartitioningAwareFileIndex,
    skipping: Skipping
) extends PartitioningAwareFileIndex(session, Map.empty, None) {
  private def digests: Seq[String] = skipping.digests

  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]
  ): Seq[PartitionDirectory] = chosen(partitionFilters, dataFilters).directories

  /** As [[SealedIndex.chosen]]. */
  def chosen(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): ChosenFiles =
    PmeSparkException.translated {
      skipping.choose(partitionFilters, dataFilters)(spark.listFiles(partitionFilters, dataFilters))
    }

  override def rootPaths: Seq[Path] = spark.rootPaths
  override def partitionSpec(): PartitionSpec = spark.partitionSpec()
  override def partitionSchema: StructType = spark.partitionSchema
  override def allFiles(): Seq[FileStatus] = spark.allFiles()
  override def inputFiles: Array[String] = spark.inputFiles
  override def sizeInBytes: Long = spark.sizeInBytes
  override def metadataOpsTimeNs: Option[Long] = spark.metadataOpsTimeNs
  override def refresh(): Unit = {
    spark.refresh()
    skipping.refresh()
  }

  // Only the methods of the base class that are overridden above use these.
  override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus] = unused
  override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] = unused
  private def unused = throw new IllegalStateException("internal error: Spark's own index lists the files")

  // Spark plans equal scans only once.
  override def equals(other: Any): Boolean = other match {
    case that: SealedFileIndex => spark == that.spark && digests == that.digests
    case _ => false
  }
  override def hashCode(): Int = spark.hashCode()
  override def toString: String = s"Sealed(${spark.toString})"
}
