package io.pmeparquet.spark.read

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.{FileSourceOptions, InternalRow}
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.parquet.{ParquetReadSupport, ParquetUtils}
import org.apache.spark.sql.execution.datasources.v2.parquet.{ParquetScan, ParquetScanBuilder}
import org.apache.spark.sql.execution.WholeStageCodegenExec
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.Masking
import io.pmeparquet.parquet.bytes.{ReadCounter, ReadCounters}
import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.spark.decode.RowPredicate
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.spark.snapshot.{ChosenFiles, CountsFiles, LeavesFilesOut, ScannedFiles, SealedFileIndex}

/**
 * What one V2 scan knows of its read, and the checks of splits that it makes for tasks. ''Driver only.''
 *
 * @param options of Spark's scan: those of the read, and what follows from them
 * @param usesPages whether the read goes through our page pipeline
 */
private[spark] final case class ScanContext(
    session: SparkSession,
    options: CaseInsensitiveStringMap,
    scope: ReadScope,
    rules: SessionRules,
    seal: Option[Broadcast[FileSeal]],
    usesPages: Boolean
) {
  def spelled: Map[String, String] = options.asCaseSensitiveMap().asScala.toMap

  def admission(columns: StructType): ParquetSplitAdmission =
    admission(SparkAccess.hadoopConf(session, spelled), columns)

  def admission(conf: Configuration, columns: StructType): ParquetSplitAdmission =
    ParquetSplitAdmission(session, conf, scope, columns, SpelledPartitions.none, seal)
}

/**
 * Wraps the scan that Spark's builder of Parquet scans builds. ''Driver only.''
 *
 * @param another makes a builder like `spark`, into which nothing was pushed
 */
private[spark] final class PmeScanBuilder(
    spark: ParquetScanBuilder,
    another: () => ParquetScanBuilder,
    context: ScanContext
) extends EncryptedFileScanBuilder(context.session, spark.fileIndex, spark.dataSchema, spark) {

  // If a read may mask columns, nobody can have the statistics of a masked one. If only some files refuse it, an
  // aggregate would show values of the others. If the table is sealed, Spark would read footers that nobody compares.
  override protected def trustsStatistics: Boolean =
    context.scope.settings.masking.isEmpty && context.scope.settings.deniedFiles.isEmpty && context.seal.isEmpty

  override def build(): Scan = {
    val built = spark.build()
    PmeScan(built, context, aggregates = built.pushedAggregate.map(pushed(built, _)))
  }

  private def pushed(built: ParquetScan, aggregation: Aggregation): PushedAggregates = {
    val conf = SparkAccess.sqlConf(context.session)
    val partitions = built.readPartitionSchema
    val asked = FileAggregates
      .of(aggregation, spark.dataSchema, partitions, built.readDataSchema, conf.caseSensitiveAnalysis)
    val rows = another()
    rows.pruneColumns(asked.rows)
    PushedAggregates(asked, rows.build())
  }
}

/**
 * What a scan asks files for in place of rows.
 *
 * @param rows Spark's scan of the rows, for files whose footers do not answer
 */
private[spark] final case class PushedAggregates(asked: FileAggregates, rows: ParquetScan)

/**
 * Spark's Parquet scan, whose tasks check each file before they open it. ''Driver only.''
 *
 * @param conditions the columns that conditions look at, if [[ConditionColumns]] has run
 * @param nullChecks the columns, and fields of structs, that the plan only tests for NULL
 */
private[spark] final case class PmeScan(
    spark: ParquetScan,
    context: ScanContext,
    conditions: Option[Set[String]] = None,
    aggregates: Option[PushedAggregates] = None,
    nullChecks: Set[Seq[String]] = Set.empty
) extends EncryptedFileScan
    with CountsFiles
    with LeavesFilesOut {
  import PmeScan.FilesEntry

  override val masked: MaskedColumns = new MaskedColumns

  def leavesOutFiles: Boolean = context.scope.settings.deniedFiles.nonEmpty

  private val leftOut = new LeftOutFiles
  override def filesLeftOut: Long = leftOut.count

  override def withConditions(columns: Set[String]): PmeScan =
    copy(conditions = Some(conditions.getOrElse(Set.empty) ++ columns))

  override def pushedAggregate: Option[Aggregation] = spark.pushedAggregate

  override def masking: Option[Masking] = context.scope.settings.masking

  override def description(): String =
    spark.description() + filesText.fold("")(text => s", $FilesEntry: $text")
  override def getMetaData(): Map[String, String] = spark.getMetaData() ++ filesText.map(FilesEntry -> _)

  override def supportedCustomMetrics(): Array[CustomMetric] =
    if (readsPages) ReadMetric.supported else Array.empty

  override def scannedFiles: Seq[ScannedFiles] = chosen.getOrElse {
    val index = spark.fileIndex
    ChosenFiles.all(index.listFiles(spark.partitionFilters, spark.dataFilters), index.rootPaths)
  }.counted

  private def chosen: Option[ChosenFiles] = spark.fileIndex match {
    case ours: SealedFileIndex => Some(ours.chosen(spark.partitionFilters, spark.dataFilters))
    case _ => None
  }

  private def filesText = chosen.map(files => ScannedFiles.text(files.counted, atMost = false))

  private def readsPages = aggregates.isEmpty && context.usesPages

  override def createReaderFactory(): PartitionReaderFactory =
    aggregates.fold(rows)(answers)

  private def answers(pushed: PushedAggregates): PartitionReaderFactory = {
    val conf = SparkAccess.sqlConf(context.session)
    new AggregatesReaderFactory(
      pushed.asked,
      copy(spark = pushed.rows, aggregates = None).rows,
      // The reader of rows makes a check of its own.
      context.admission(new StructType()),
      context.scope,
      byName = !(conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(pushed.asked.columns)),
      conf.caseSensitiveAnalysis
    )
  }

  private def rows: PartitionReaderFactory = {
    // This call also prepares the configuration, which both readers need.
    val factory = spark.createReaderFactory()
    if (readsPages) pages(context.admission(spark.hadoopConf, spark.readDataSchema))
    else new AdmittedReaderFactory(factory, context.admission(spark.readDataSchema))
  }

  private def pages(admission: ParquetSplitAdmission): PartitionReaderFactory = {
    val conf = SparkAccess.sqlConf(context.session)
    val json = spark.hadoopConf.get(ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA)
    val required = DataType.fromJson(json).asInstanceOf[StructType]
    val partitions = spark.readPartitionSchema
    val result = StructType(required.fields ++ partitions.fields)
    val rules = SparkReadRules.of(conf, result, context.spelled)
    val masking =
      MaskedScan.of(context.session, context.scope.settings.masking, conditions, masked)(
        context.rules.install()
      )
    val denied = DeniedFiles.of(context.session, context.scope.settings, leftOut)
    val rows = RowPredicate.of(spark.dataFilters, required)
    val scan = PagedScan(rules, required, partitions, spark.pushedFilters.toSeq, rows, nullChecks)
    def read(batches: Boolean) =
      new PagesRead(
        admission.conf,
        context.scope,
        scan.copy(rules = rules.copy(returningBatch = batches)),
        masking,
        denied,
        SpelledPartitions.none,
        context.seal
      )
    val columnar = conf.parquetVectorizedReaderEnabled && conf.wholeStageEnabled &&
      !WholeStageCodegenExec.isTooManyFields(conf, result) && rules.vectorized
    val fileOptions = new FileSourceOptions(context.spelled)
    new PagesReaderFactory(
      read(batches = false),
      read(batches = true),
      result,
      admission,
      columnar,
      fileOptions
    )
  }
}

private object PmeScan {

  /** How `EXPLAIN` calls what [[ScannedFiles.text]] says. */
  private val FilesEntry = "Files"
}

/**
 * The page pipeline behind Spark's V2 scan. ''Crosses the wire'', with the scope.
 *
 * @param rows reads a split row by row
 * @param batches reads a split batch by batch
 * @param result the columns of its rows
 * @param columnar whether Spark may ask for batches
 */
private final class PagesReaderFactory(
    rows: PagesRead,
    batches: PagesRead,
    result: StructType,
    admission: ParquetSplitAdmission,
    columnar: Boolean,
    options: FileSourceOptions
) extends PartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean = columnar

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    counted(_.createReader(partition))

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    counted(_.createColumnarReader(partition))

  private def counted[T](reader: FileReaderFactory => PartitionReader[T]): PartitionReader[T] = {
    val counters = rows.countersOfTask()
    def read(pages: PagesRead) = new TranslatedRead(pages(_, counters), admission)
    val files = new FileReaderFactory(read(rows), read(batches), result, columnar, options)
    new CountedReader(reader(files), counters)
  }

  override def toString: String = "PagesReaderFactory"
}

/** Reports to Spark what a task has counted so far. ''Executor only.'' */
private final class CountedReader[T](reader: PartitionReader[T], counters: ReadCounters)
    extends PartitionReader[T] {
  override def next(): Boolean = reader.next()
  override def get(): T = reader.get()
  override def close(): Unit = reader.close()
  override def currentMetricsValues(): Array[CustomTaskMetric] = ReadMetric.of(counters)
}

/**
 * The costs of a V2 scan, which the SQL tab shows. Spark creates each metric by its class name, without arguments, and
 * adds up what the tasks counted.
 */
private[spark] sealed abstract class ReadMetric(
    override val name: String,
    override val description: String,
    private[spark] val of: ReadCounters => ReadCounter
) extends CustomSumMetric

final class ReadRequests extends ReadMetric("pmeReads", "reads of files", _.reads)
final class BytesRead extends ReadMetric("pmeBytesRead", "bytes read of files", _.bytes)
final class ModulesDecrypted extends ReadMetric("pmeModules", "modules decrypted", _.modules)
final class FootersRead extends ReadMetric("pmeFooters", "footers opened", _.footers)
final class KeysOpened extends ReadMetric("pmeKeys", "data keys opened", _.keys)

private[spark] object ReadMetric {
  private val all =
    Seq(new ReadRequests, new BytesRead, new ModulesDecrypted, new FootersRead, new KeysOpened)

  def supported: Array[CustomMetric] = all.toArray

  def of(counters: ReadCounters): Array[CustomTaskMetric] =
    all.map(metric => TaskMetric(metric.name, metric.of(counters).sum): CustomTaskMetric).toArray
}

private final case class TaskMetric(override val name: String, override val value: Long)
    extends CustomTaskMetric
