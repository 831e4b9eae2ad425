package io.pmeparquet.spark.read

import java.time.ZoneId

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.parquet.hadoop.ParquetInputFormat
import org.apache.parquet.schema.MessageType
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{
  DataSourceUtils,
  FileFormat,
  PartitionedFile,
  RecordReaderIterator
}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetOptions, ParquetReadSupport, ParquetUtils}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration
import org.apache.spark.TaskContext

import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.file.{FileSeal, SplitReader}
import io.pmeparquet.parquet.schema.PredicateColumns
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.spark.decode.{
  FilteredRowGroups,
  PagedRowGroups,
  RowGroupSource,
  RowPages,
  RowPredicate,
  VectorizedLink,
  VectorizedPages
}
import io.pmeparquet.spark.session.PmeMetrics

/**
 * The function that reads a split of a file through the page pipeline, into the same rows and batches as Spark's own
 * reader. [[SplitRows]] reads one split.
 *
 * ''Crosses the wire'', with the scope.
 *
 * @param conf prepared by Spark for its own readers; Spark's schema converter and read support take their settings from
 *   it
 * @param seal what snapshots say of the files
 * @param masked set if the scan reads columns whose keys the KMS refuses as NULL
 * @param denied set if the scan leaves out files whose footers' keys the KMS refuses
 * @param spelled what directories must spell
 */
private[spark] final class PagesRead(
    conf: Broadcast[SerializableConfiguration],
    scope: ReadScope,
    scan: PagedScan,
    masked: Option[MaskedScan],
    denied: Option[DeniedFiles],
    spelled: SpelledPartitions,
    seal: Option[Broadcast[FileSeal]]
) extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {
  private val stated = StatedRows.of(scope.settings, scan.required, scan.partitions)

  override def apply(split: PartitionedFile): Iterator[InternalRow] = apply(split, scope.counters)

  /** @param counters the counters of the task */
  def apply(split: PartitionedFile, counters: ReadCounters): Iterator[InternalRow] = {
    spelled.require(split)
    val hadoop = conf.value.value
    def open = new SplitReader(scope, split.toPath, hadoop, counters, seal.map(_.value))
    val opened = denied.fold(Option(open))(_.unlessDenied(split.toPath.toString)(open))
    opened.fold[Iterator[InternalRow]](Iterator.empty)(rowsOf(_, split, hadoop))
  }

  private def rowsOf(
      file: SplitReader,
      split: PartitionedFile,
      hadoop: Configuration
  ): Iterator[InternalRow] =
    try {
      new StructNulls(file, hadoop, scan.required, scan.nullChecks, masked.isDefined).choose()
      val asked =
        masked.fold(AskedColumns(hadoop, scan.required))(
          RefusedColumns.hide(file, hadoop, scan.required, _)
        )
      stated.of(new SplitRows(file, split, scan, asked).rows(), file.place, split.toPath.toString)
    } catch {
      case failed: Throwable =>
        file.close()
        throw failed
    }

  /** Counters for one task; the scope counts the same. ''Executor only.'' */
  def countersOfTask(): ReadCounters = {
    PmeMetrics.register()
    new ReadCounters(scope.counters)
  }

  override def toString: String = s"PagesRead($scope)"
}

/**
 * Reads one split of an opened file in the same way as Spark's own reader: with the same dates, time zones, schema and
 * filters. Batches come from [[VectorizedPages]], rows from [[RowPages]]. ''Executor only.''
 */
private final class SplitRows(
    file: SplitReader,
    split: PartitionedFile,
    scan: PagedScan,
    asked: AskedColumns
) {
  private val rules = scan.rules
  private val metadata = file.metadata.getKeyValueMetaData
  private val datetime = DataSourceUtils.datetimeRebaseSpec(metadata.get(_), rules.datetimeRebaseMode)
  private val int96 = DataSourceUtils.int96RebaseSpec(metadata.get(_), rules.int96RebaseMode)
  private val support =
    if (rules.vectorized) new ParquetReadSupport()
    else new ParquetReadSupport(convertTz, enableVectorizedReader = false, datetime, int96)
  private val requested = support.init(asked.of(file))
  private val schema = requested.getRequestedSchema
  private val filter = predicate
  private val groups = file.rowGroups(
    split.start,
    file.splitLength(split.start, split.length, split.fileSize),
    schema,
    filter,
    rules.vectorized
  )

  /** Rows, or batches if Spark wants those. */
  def rows(): Iterator[InternalRow] = if (rules.vectorized) batches() else rowByRow()

  private def batches(): Iterator[InternalRow] = {
    val source = scan.rowPredicate
      .filter(_ => schema.getFieldCount == scan.required.size)
      .fold[RowGroupSource](new PagedRowGroups(file, groups))(filtered)
    val made = reader(source, schema, asked.schema)
    made.initBatch(scan.partitions, split.partitionValues)
    if (rules.returningBatch) made.enableReturningBatches()
    // Spark passes batches through iterators of rows.
    new RecordReaderIterator(made).asInstanceOf[Iterator[InternalRow]]
  }

  private def rowByRow(): Iterator[InternalRow] =
    new RowPages(
      file.path,
      new PagedRowGroups(file, groups),
      file.metadata,
      support,
      requested,
      asked.conf,
      filter.filter(rules.recordFilter && !PredicateColumns.comparesWithZero(_)),
      scan.required
    ).rows(scan.partitions, split.partitionValues)

  private def filtered(rows: RowPredicate): RowGroupSource = {
    // Spark wants columns in the order of its schema.
    val columns = new MessageType(schema.getName, rows.positions.map(schema.getType(_)).asJava)
    val paths = columns.getPaths.asScala.map(ColumnPath.get(_: _*)).toSet
    def filterReader(source: RowGroupSource) = {
      val made = reader(source, columns, StructType(rows.positions.map(asked.schema(_))))
      made.initBatch(new StructType(), InternalRow.empty)
      made
    }
    new FilteredRowGroups(file, groups, rows.compiled(), paths, filterReader)
  }

  private def reader(source: RowGroupSource, columns: MessageType, spark: StructType): VectorizedPages = {
    val made = new VectorizedPages(
      convertTz.orNull,
      datetime.mode.toString,
      datetime.timeZone,
      int96.mode.toString,
      int96.timeZone,
      rules.offHeap && TaskContext.get() != null,
      rules.capacity,
      source,
      VectorizedLink.get
    )
    made.open(file.metadata.getSchema, columns, spark, file.metadata.getCreatedBy, asked.conf)
    made
  }

  // Like Spark, this converts only files that another writer than parquet-java wrote.
  private def convertTz: Option[ZoneId] =
    rules.int96Conversion
      .filterNot(_ => String.valueOf(file.metadata.getCreatedBy).startsWith("parquet-mr"))
      .map(DateTimeUtils.getZoneId)

  private def predicate: Option[FilterPredicate] =
    if (!rules.filterPushDown) None
    else {
      val parquet = VectorizedLink.get.parquetFilters(
        file.metadata.getSchema,
        rules.pushDownDate,
        rules.pushDownTimestamp,
        rules.pushDownDecimal,
        rules.pushDownStringPredicate,
        rules.pushDownInThreshold,
        rules.caseSensitive,
        datetime
      )
      scan.filters.flatMap(parquet.createFilter(_)).reduceOption(FilterApi.and(_, _))
    }
}

/**
 * What a scan reads from each of its splits. ''Crosses the wire.''
 *
 * @param required the columns to read from the files
 * @param partitions the columns whose values are names of directories
 * @param filters the filters that parquet-java can apply to row groups and pages
 * @param rowPredicate selects rows before the scan reads the columns that it does not look at
 * @param nullChecks the columns, and fields of structs, that the query only tests for NULL
 */
private[spark] final case class PagedScan(
    rules: SparkReadRules,
    required: StructType,
    partitions: StructType,
    filters: Seq[Filter],
    rowPredicate: Option[RowPredicate],
    nullChecks: Set[Seq[String]]
)

/** The settings of Spark's session for reading Parquet files. ''Crosses the wire.'' */
private[spark] final case class SparkReadRules(
    vectorized: Boolean,
    returningBatch: Boolean,
    offHeap: Boolean,
    capacity: Int,
    filterPushDown: Boolean,
    recordFilter: Boolean,
    pushDownDate: Boolean,
    pushDownTimestamp: Boolean,
    pushDownDecimal: Boolean,
    pushDownStringPredicate: Boolean,
    pushDownInThreshold: Int,
    caseSensitive: Boolean,
    datetimeRebaseMode: String,
    int96RebaseMode: String,
    int96Conversion: Option[String]
)

private[spark] object SparkReadRules {

  /** ''Driver only.'' */
  def of(conf: SQLConf, result: StructType, options: Map[String, String]): SparkReadRules = {
    val parquet = new ParquetOptions(options, conf)
    SparkReadRules(
      vectorized = ParquetUtils.isBatchReadSupportedForSchema(conf, result),
      returningBatch = conf.parquetVectorizedReaderEnabled && options
        .get(FileFormat.OPTION_RETURNING_BATCH)
        .contains("true"),
      offHeap = conf.offHeapColumnVectorEnabled,
      capacity = conf.parquetVectorizedReaderBatchSize,
      // Filters name columns. If Spark finds columns by id, a name may belong to another column.
      filterPushDown =
        conf.parquetFilterPushDown && !(conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(result)),
      recordFilter = conf.parquetRecordFilterEnabled,
      pushDownDate = conf.parquetFilterPushDownDate,
      pushDownTimestamp = conf.parquetFilterPushDownTimestamp,
      pushDownDecimal = conf.parquetFilterPushDownDecimal,
      pushDownStringPredicate = conf.parquetFilterPushDownStringPredicate,
      pushDownInThreshold = conf.parquetFilterPushDownInFilterThreshold,
      caseSensitive = conf.caseSensitiveAnalysis,
      datetimeRebaseMode = parquet.datetimeRebaseModeInRead,
      int96RebaseMode = parquet.int96RebaseModeInRead,
      int96Conversion = if (conf.isParquetINT96TimestampConversion) Some(conf.sessionLocalTimeZone) else None
    )
  }

  /**
   * What Spark's reader of single rows needs, with `reader=spark` where its vectorized reader cannot read a schema or is
   * off: no column index. With it, parquet-java's record assembly can take a value from another page (parquet-java issue
   * 3747).
   *
   * @param schema at least what is read; a wider one costs speed only
   */
  def ofRowReader(conf: SQLConf, schema: StructType): Map[String, String] = {
    val isVectorized =
      conf.parquetVectorizedReaderEnabled && ParquetUtils.isBatchReadSupportedForSchema(conf, schema)
    if (isVectorized) Map.empty else Map(ParquetInputFormat.COLUMN_INDEX_FILTERING_ENABLED -> "false")
  }
}
