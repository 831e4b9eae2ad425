package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.expressions.aggregate.{AggregateFunc, Aggregation, Max, Min}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.v2.{FileScan, FileScanBuilder}
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.internal.connector.SupportsMetadata
import org.apache.spark.sql.types.{DoubleType, FloatType, StructType}
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

  /** What Spark asks files for in place of rows. */
  def pushedAggregate: Option[Aggregation]

  override def readSchema(): StructType = spark.readSchema()
  override def description(): String = spark.description()
  override def getMetaData(): Map[String, String] = spark.getMetaData()
  override def estimateStatistics(): Statistics = spark.estimateStatistics()
  override def toBatch: Batch = this

  // Spark adds the counts of files up, and the sum of none is NULL: this partition states that no file has no rows.
  override def planInputPartitions(): Array[InputPartition] = {
    val planned = spark.planInputPartitions()
    if (planned.isEmpty && pushedAggregate.exists(_.groupByExpressions().isEmpty)) Array(NoFiles.partition)
    else planned
  }
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
    trustsStatistics && !aggregation.aggregateExpressions().exists(isOfFloats) && spark.pushAggregation(
      aggregation
    )

  // In Spark NaN is the largest number. Writers leave it out of statistics, or all statistics with it.
  private def isOfFloats(function: AggregateFunc): Boolean = function match {
    case _: Min | _: Max =>
      val names = function.references().map(_.fieldNames().head)
      dataSchema.exists { field =>
        names.exists(
          _.equalsIgnoreCase(field.name)
        ) && (field.dataType == FloatType || field.dataType == DoubleType)
      }
    case _ => false
  }
}
