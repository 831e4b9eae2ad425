package io.pmeparquet.spark.read

import java.time.ZoneId

import scala.collection.JavaConverters._

import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{DataSourceUtils, PartitionedFile, RecordReaderIterator}
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport
import org.apache.spark.sql.types.StructType
import org.apache.spark.TaskContext

import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.parquet.schema.PredicateColumns
import io.pmeparquet.spark.decode.{
  FilteredRowGroups,
  PagedRowGroups,
  RowGroupSource,
  RowPages,
  RowPredicate,
  VectorizedLink,
  VectorizedPages
}

/**
 * Reads one split of an opened file in the same way as Spark's own reader: with the same dates, time zones, schema and
 * filters. Batches come from [[VectorizedPages]], rows from [[RowPages]]. ''Executor only.''
 */
private[spark] final class SplitRows(
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
