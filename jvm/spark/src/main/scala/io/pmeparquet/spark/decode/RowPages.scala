package io.pmeparquet.spark.decode

import java.io.Closeable
import java.util.PrimitiveIterator

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.filter2.predicate.FilterPredicate
import org.apache.parquet.hadoop.api.ReadSupport.ReadContext
import org.apache.parquet.hadoop.metadata.FileMetaData
import org.apache.parquet.io.{ColumnIOFactory, ParquetDecodingException, RecordReader}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, JoinedRow}
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeProjection
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.parquet.{ParquetReadSupport, ParquetRowIndexUtil}
import org.apache.spark.sql.types.StructType

/**
 * A record that did not decode, and where. [[io.pmeparquet.spark.read.ParquetSplitAdmission]] decides whether we or Spark
 * explain it.
 */
private[spark] final class UndecodedRecord(position: Long, block: Int, file: Path, cause: RuntimeException)
    extends RuntimeException(cause) {

  /** Spark looks for this exception, and chooses its advice to the user by the cause. */
  def asParquetHasIt: ParquetDecodingException =
    new ParquetDecodingException(s"Can not read value at $position in block $block in file $file", getCause)
}

/**
 * Assembles row groups record by record with parquet-column and Spark's read support, for schemas that Spark does not
 * vectorize. For one thread.
 *
 * @param filter leaves out records, if Spark asks for that
 */
private[spark] final class RowPages(
    file: Path,
    source: RowGroupSource,
    metadata: FileMetaData,
    support: ParquetReadSupport,
    context: ReadContext,
    conf: Configuration,
    filter: Option[FilterPredicate],
    required: StructType
) {
  private val schema = metadata.getSchema
  private val requested = context.getRequestedSchema
  private lazy val columns = new ColumnIOFactory(metadata.getCreatedBy).getColumnIO(requested, schema, true)
  private val materializer =
    support.prepareForRead(conf, metadata.getKeyValueMetaData, schema, context)
  private val recordFilter = filter.fold(FilterCompat.NOOP)(FilterCompat.get)
  private val rowIndexColumn = ParquetRowIndexUtil.findRowIndexColumnIndexInSchema(required)

  /** The rows, with the partition's values appended. Each is valid until the next. */
  def rows(partitions: StructType, values: InternalRow): Iterator[InternalRow] = {
    val full = (required.fields ++ partitions.fields).toSeq.map { field =>
      AttributeReference(field.name, field.dataType, field.nullable, field.metadata)()
    }
    val project = GenerateUnsafeProjection.generate(full, full)
    val joined = new JoinedRow
    val records = new Records
    new Iterator[InternalRow] with Closeable {
      override def hasNext: Boolean = records.hasNext
      override def next(): InternalRow = {
        val row = records.next()
        project(if (partitions.isEmpty) row else joined(row, values))
      }
      override def close(): Unit = source.close()
    }
  }

  private final class Records extends Iterator[InternalRow] {
    private var reader: RecordReader[InternalRow] = _
    private var indexes: PrimitiveIterator.OfLong = _
    private var firstRow = 0L
    // parquet-java counts in the same way.
    private var position = 0L
    private var block = -1
    private var left = 0L
    private var nextRow: InternalRow = _
    private var done = false

    override def hasNext: Boolean = {
      while (nextRow == null && !done)
        try step()
        catch { case failed: RuntimeException => throw new UndecodedRecord(position, block, file, failed) }
      !done
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      val row = nextRow
      nextRow = null
      row
    }

    private def step(): Unit =
      if (left == 0) nextRowGroup()
      else {
        left -= 1
        position += 1
        val row = reader.read()
        val index = indexes.nextLong()
        if (row != null && !reader.shouldSkipCurrentRecord()) {
          if (rowIndexColumn >= 0) row.setLong(rowIndexColumn, firstRow + index)
          nextRow = row
        }
      }

    private def nextRowGroup(): Unit = {
      left = source.advance()
      if (left == 0) {
        done = true
        source.close()
      } else {
        val pages = source.pages()
        firstRow = pages.getRowIndexOffset.orElse(0L)
        indexes = pages.getRowIndexes.orElseGet(() => java.util.stream.LongStream.range(0, left).iterator())
        reader = columns.getRecordReader(pages, materializer, recordFilter)
        block += 1
      }
    }
  }
}
