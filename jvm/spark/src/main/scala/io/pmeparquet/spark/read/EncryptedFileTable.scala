package io.pmeparquet.spark.read

import java.util

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.catalog.TableCapability
import org.apache.spark.sql.connector.expressions.aggregate.{AggregateFunc, Aggregation, Max, Min}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitioningAwareFileIndex}
import org.apache.spark.sql.execution.datasources.v2.{FileScan, FileScanBuilder, FileTable}
import org.apache.spark.sql.internal.connector.SupportsMetadata
import org.apache.spark.sql.types.{DoubleType, FloatType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.Masking
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.spark.snapshot.{SealedTable, SnapshotReads}

/** The V2 side of a format, Parquet or ORC, as rules know it. It only reads. ''Driver only.'' */
abstract class EncryptedFileTable private[spark] (
    session: SparkSession,
    tableOptions: CaseInsensitiveStringMap,
    paths: Seq[String],
    userSchema: Option[StructType]
) extends FileTable(session, tableOptions, paths, userSchema) {

  private[spark] def schemaOf(files: Seq[FileStatus], options: Map[String, String]): Option[StructType]

  /** @param options of the table and the scan */
  private[spark] def scans(options: Map[String, String]): ScanBuilder

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def inferSchema(files: Seq[FileStatus]): Option[StructType] =
    PmeSparkException.translated(schemaOf(files, spelled(tableOptions)))

  override def newScanBuilder(scanOptions: CaseInsensitiveStringMap): ScanBuilder =
    PmeSparkException.translated {
      // Spark 3.5 passes only the scan's options, later versions also the table's. The scan's options take precedence.
      val ofTable = spelled(tableOptions).filterNot { case (name, _) => scanOptions.containsKey(name) }
      scans(ofTable ++ spelled(scanOptions))
    }

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    throw new IllegalStateException("internal error: writes go through the V1 side")

  /** The sealed tables that the files are of, compared with what Spark has listed. */
  private[spark] final def sealedTables(resolved: ResolvedOptions): Seq[SealedTable] = {
    val reads = new SnapshotReads(resolved)
    val listed = fileIndex.allFiles()
    val files = listed.iterator.map(_.getPath).toSet
    val tables = reads.tables(fileIndex.rootPaths, files.contains, files)
    reads.require(tables, fileIndex, catalog = None, isStream = false)
    tables
  }

  private def spelled(options: CaseInsensitiveStringMap) = options.asCaseSensitiveMap().asScala.toMap
}

private[spark] object EncryptedFileTable {
  private val Skips = "ignoreCorruptFiles"

  /**
   * Options for Spark's own V2 reader, which can skip a file on any failure, below our code. It must not skip an altered or
   * plaintext file.
   */
  def skippingNothing(options: Map[String, String]): Map[String, String] =
    options.filterNot { case (name, _) => name.equalsIgnoreCase(Skips) } + (Skips -> "false")
}

/** A scan of an [[EncryptedFileTable]] over one of Spark's, as rules know it: some watch over masked columns. ''Driver only.'' */
private[spark] trait EncryptedFileScan
    extends Scan
    with Batch
    with SupportsReportStatistics
    with SupportsMetadata {

  /** Spark's scan, which plans. */
  def spark: FileScan

  /** What the scan does with columns whose keys are refused; none: it fails. */
  def masking: Option[Masking]

  /** The columns that the scan masks, noted while it runs. */
  def masked: MaskedColumns

  /** The same scan, with more columns that conditions look at. */
  def withConditions(columns: Set[String]): EncryptedFileScan

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
    if (planned.isEmpty && pushedAggregate.exists(_.groupByExpressions().isEmpty))
      Array(FilePartition(0, Array.empty))
    else planned
  }
}

/**
 * Passes all calls to Spark's builder of scans, and wraps only the scan that it builds. It is a `FileScanBuilder`, because
 * Spark 3.5 pushes filters into no other builder for files. ''Driver only.''
 */
private[spark] abstract class EncryptedFileScanBuilder(
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
