package io.pmeparquet.spark.pages

import java.time.ZoneId

import scala.annotation.tailrec
import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}
import org.apache.parquet.hadoop.api.InitContext
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.parquet.schema.MessageType
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, RebaseDateTime, ResolveDefaultColumns}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{
  DataSourceUtils,
  FileFormat,
  PartitionedFile,
  RecordReaderIterator
}
import org.apache.spark.sql.execution.datasources.parquet._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{MetadataBuilder, StructField, StructType}
import org.apache.spark.util.SerializableConfiguration
import org.apache.spark.TaskContext

import io.pmeparquet.parquet.pages.{PagedFile, PagedRowGroup, PredicateColumns, ReadCounters, RefusedColumn}
import io.pmeparquet.parquet.ReadScope
import io.pmeparquet.spark.MaskedScan

/** How Spark's session wants Parquet files read. ''Crosses the wire.'' */
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
      // Spark says filters by name, and a name may be another column's where columns are found by id.
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
}

/**
 * The function that reads a split of a file by the page pipeline, into the same rows and batches as Spark's own.
 *
 * ''Crosses the wire'', with the scope.
 *
 * @param filters those that parquet-java's filters for row groups and pages can make use of
 * @param rowPredicate what rows are judged by before columns that it does not look at are read
 * @param masked where columns whose keys are refused are read as NULL
 * @param conf as Spark prepares it for its own readers: it tells Spark's schema converter and read support what to do
 */
private[spark] final class PagesRead(
    conf: Broadcast[SerializableConfiguration],
    scope: ReadScope,
    rules: SparkReadRules,
    required: StructType,
    partitions: StructType,
    filters: Seq[Filter],
    rowPredicate: Option[RowPredicate],
    masked: Option[MaskedScan]
) extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {

  override def apply(split: PartitionedFile): Iterator[InternalRow] = apply(split, scope.counters)

  /** @param counters of the task */
  def apply(split: PartitionedFile, counters: ReadCounters): Iterator[InternalRow] = {
    val hadoop = conf.value.value
    val file = new PagedFile(scope, split.toPath, hadoop, counters)
    try open(file, split, hadoop)
    catch {
      case failed: Throwable =>
        file.close()
        throw failed
    }
  }

  /** Counters for one task, whose counts the scope has, too. ''Executor only.'' */
  def countersOfTask(): ReadCounters = new ReadCounters(Some(scope.counters))

  private def open(
      file: PagedFile,
      split: PartitionedFile,
      prepared: Configuration
  ): Iterator[InternalRow] = {
    val hidden = masked.fold(Set.empty[String])(hide(file, prepared, _))
    val (hadoop, columnsOfScan) = withoutDefaults(hidden, prepared)
    val metadata = file.metadata.getKeyValueMetaData
    val datetime = DataSourceUtils.datetimeRebaseSpec(metadata.get(_), rules.datetimeRebaseMode)
    val int96 = DataSourceUtils.int96RebaseSpec(metadata.get(_), rules.int96RebaseMode)
    val support =
      if (rules.vectorized) new ParquetReadSupport()
      else new ParquetReadSupport(convertTz(file), enableVectorizedReader = false, datetime, int96)
    val context = new InitContext(hadoop, PagesRead.sets(metadata), file.metadata.getSchema)
    val requested = support.init(context)
    val filter = predicate(file, datetime)
    val groups = file.rowGroups(
      split.start,
      file.splitLength(split.start, split.length, split.fileSize),
      requested.getRequestedSchema,
      filter,
      rules.vectorized
    )
    if (rules.vectorized) {
      def reader(source: RowGroupSource, columns: MessageType, spark: StructType): VectorizedPages = {
        val made = new VectorizedPages(
          convertTz(file).orNull,
          datetime.mode.toString,
          datetime.timeZone,
          int96.mode.toString,
          int96.timeZone,
          rules.offHeap && TaskContext.get() != null,
          rules.capacity,
          source,
          VectorizedLink.get
        )
        made.open(file.metadata.getSchema, columns, spark, file.metadata.getCreatedBy, hadoop)
        made
      }
      val source = rowPredicate
        .filter(_ => requested.getRequestedSchema.getFieldCount == required.size)
        .fold[RowGroupSource](new PagedRowGroups(file, groups)) { rows =>
          filtered(file, groups, rows, requested.getRequestedSchema, columnsOfScan)(reader)
        }
      val made = reader(source, requested.getRequestedSchema, columnsOfScan)
      made.initBatch(partitions, split.partitionValues)
      if (rules.returningBatch) made.enableReturningBatches()
      // Spark hands batches through iterators of rows.
      new RecordReaderIterator(made).asInstanceOf[Iterator[InternalRow]]
    } else
      new RowPages(
        file.path,
        new PagedRowGroups(file, groups),
        file.metadata,
        support,
        requested,
        hadoop,
        filter.filter(rules.recordFilter && !PredicateColumns.comparesWithZero(_)),
        required
      ).rows(partitions, split.partitionValues)
  }

  private def filtered(
      file: PagedFile,
      groups: Iterator[PagedRowGroup],
      rows: RowPredicate,
      requested: MessageType,
      scan: StructType
  )(
      reader: (RowGroupSource, MessageType, StructType) => VectorizedPages
  ): RowGroupSource = {
    // Spark asks for columns in the order of its schema.
    val columns = new MessageType(requested.getName, rows.positions.map(requested.getType(_)).asJava)
    val paths = columns.getPaths.asScala.map(ColumnPath.get(_: _*)).toSet
    def filterReader(source: RowGroupSource) = {
      val made = reader(source, columns, StructType(rows.positions.map(scan(_))))
      made.initBatch(new StructType(), InternalRow.empty)
      made
    }
    new FilteredRowGroups(file, groups, rows.compiled(), paths, filterReader)
  }

  /**
   * Hides the columns that are refused: then they are missing, and what is missing Spark reads as NULL.
   *
   * @return the names of the columns of the scan that they are, or are a part of
   */
  private def hide(file: PagedFile, conf: Configuration, scan: MaskedScan): Set[String] = {
    // Where all wanted fields of a struct are missing, Spark takes another to know where the struct is NULL: so again.
    @tailrec def hideAgain(before: Seq[(String, RefusedColumn)]): Seq[(String, RefusedColumn)] = {
      val asked = new ParquetReadSupport()
        .init(
          new InitContext(conf, PagesRead.sets(file.metadata.getKeyValueMetaData), file.metadata.getSchema)
        )
        .getRequestedSchema
      val refused = file.refused(asked)
      val named = refused.map(column => required(asked.getFieldIndex(column.path.head)).name -> column)
      file.hide(refused)
      if (refused.isEmpty) before else hideAgain(before ++ named)
    }
    val refused = hideAgain(Nil)
    scan.admit(refused, file.path.toString)
    refused.map(_._1).toSet
  }

  /** Spark reads a missing column as the default of its definition, which is not for columns that are hidden. */
  private def withoutDefaults(hidden: Set[String], conf: Configuration): (Configuration, StructType) =
    if (hidden.isEmpty) (conf, required)
    else {
      val schema = StructType(
        required.map(field => if (hidden(field.name)) PagesRead.withoutDefault(field) else field)
      )
      val copy = new Configuration(conf)
      copy.set(ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA, schema.json)
      (copy, schema)
    }

  // Only what others than parquet-java wrote is to be converted, as Spark has it.
  private def convertTz(file: PagedFile): Option[ZoneId] =
    rules.int96Conversion
      .filterNot(_ => String.valueOf(file.metadata.getCreatedBy).startsWith("parquet-mr"))
      .map(DateTimeUtils.getZoneId)

  private def predicate(file: PagedFile, rebase: RebaseDateTime.RebaseSpec): Option[FilterPredicate] =
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
        rebase
      )
      filters.flatMap(parquet.createFilter(_)).reduceOption(FilterApi.and(_, _))
    }

  override def toString: String = s"PagesRead($scope)"
}

private object PagesRead {
  def sets(metadata: java.util.Map[String, String]): java.util.Map[String, java.util.Set[String]] =
    metadata.asScala.map { case (key, value) => key -> java.util.Collections.singleton(value) }.toMap.asJava

  def withoutDefault(field: StructField): StructField = {
    val metadata = new MetadataBuilder().withMetadata(field.metadata).remove(ExistsDefault).build()
    val dataType = field.dataType match {
      case struct: StructType => StructType(struct.map(withoutDefault))
      case other => other
    }
    field.copy(dataType = dataType, metadata = metadata)
  }

  private val ExistsDefault = ResolveDefaultColumns.EXISTS_DEFAULT_COLUMN_METADATA_KEY
}
