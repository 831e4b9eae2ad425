package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.v2.{FileScan, FileScanBuilder}
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.internal.connector.SupportsMetadata
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.Masking

/** A V2 scan of ours over one of Spark's, as rules know it: some watch over masked columns. ''Driver only.'' */
private[spark] trait OurScan extends Scan with Batch with SupportsReportStatistics with SupportsMetadata {

  /** Spark's scan, which plans. */
  def spark: FileScan

  /** What the scan does with columns whose keys are refused; none: it fails. */
  def masking: Option[Masking]

  /** The columns that the scan masks, noted while it runs. */
  def masked: MaskedColumns

  /** The same scan, with more columns that conditions look at. */
  def withConditions(columns: Set[String]): OurScan

  override def readSchema(): StructType = spark.readSchema()
  override def description(): String = spark.description()
  override def getMetaData(): Map[String, String] = spark.getMetaData()
  override def estimateStatistics(): Statistics = spark.estimateStatistics()
  override def toBatch: Batch = this
  override def planInputPartitions(): Array[InputPartition] = spark.planInputPartitions()
}

/**
 * Passes all calls to Spark's builder of scans, and wraps only the scan that it builds. It is a `FileScanBuilder`, because
 * Spark 3.5 pushes filters into no other builder for files. ''Driver only.''
 */
private[spark] abstract class OurScanBuilder(
    session: SparkSession,
    files: PartitioningAwareFileIndex,
    dataSchema: StructType,
    spark: FileScanBuilder with SupportsPushDownAggregates
) extends FileScanBuilder(session, files, dataSchema)
    with SupportsPushDownAggregates {

  /** Whether statistics of files may answer for data. */
  protected def trustsStatistics: Boolean

  override def pruneColumns(required: StructType): Unit = spark.pruneColumns(required)
  override def pushFilters(filters: Seq[Expression]): Seq[Expression] = spark.pushFilters(filters)
  override def pushedFilters: Array[Predicate] = spark.pushedFilters
  override def pushAggregation(aggregation: Aggregation): Boolean =
    trustsStatistics && spark.pushAggregation(aggregation)
}
