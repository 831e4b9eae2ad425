package io.pmeparquet.parquet.summary

import scala.annotation.tailrec
import scala.util.control.NonFatal

import org.apache.parquet.column.{ColumnDescriptor, ColumnReader}
import org.apache.parquet.column.impl.ColumnReadStoreImpl
import org.apache.parquet.io.api.{Converter, GroupConverter, PrimitiveConverter}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import io.pmeparquet.parquet.bytes.ParquetFailures
import io.pmeparquet.parquet.chunk.{Chunk, RowGroupChunks}
import io.pmeparquet.parquet.file.{ColumnPages, OpenFile}

/**
 * The values of a column that are not null, as parquet-java's column reader decodes them, in the order of rows. It reads a
 * row group when its first value is asked for.
 *
 * @param groups that column's chunk in each row group that has rows
 */
private[summary] final class ColumnValues(file: OpenFile, groups: Seq[RowGroupChunks], pages: ColumnPages)
    extends Iterator[AnyRef] {
  private val rest = groups.iterator
  private var column: ColumnDescriptor = _
  private var reader: ColumnReader = _
  private var left = 0L
  private var ahead: AnyRef = _
  private var passed = 0L
  private var failed: Option[Throwable] = None

  /** The number of nulls; that of the whole file after the last value. */
  def nulls: Long = passed

  /** Throws again what a caller's code may have caught. */
  def requireRead(): Unit = failed.foreach(throw _)

  override def hasNext: Boolean =
    try advance()
    catch {
      case NonFatal(problem) =>
        failed = Some(
          ParquetFailures.ofPages(problem, file.version.path.toString, what)(_ => false).getOrElse(problem)
        )
        throw failed.get
    }

  private def what = s"a page of column '${groups.head.chunks.head.display}'"

  override def next(): AnyRef =
    if (hasNext) {
      val value = ahead
      ahead = null
      value
    } else Iterator.empty.next()

  @tailrec
  private def advance(): Boolean =
    if (ahead != null) true
    else if (left > 0) {
      left -= 1
      if (reader.getCurrentDefinitionLevel == column.getMaxDefinitionLevel) ahead = valueOf(reader)
      else passed += 1
      reader.consume()
      advance()
    } else if (rest.hasNext) {
      open(rest.next())
      advance()
    } else false

  private def open(group: RowGroupChunks): Unit = {
    val chunk: Chunk = group.chunks.head
    column = chunk.descriptor
    val store =
      new ColumnReadStoreImpl(
        pages.of(group),
        UnusedValues,
        file.schema,
        file.fileMetaData.getCreatedBy
      )
    reader = store.getColumnReader(column)
    left = chunk.meta.getValueCount
  }

  private def valueOf(reader: ColumnReader): AnyRef = column.getPrimitiveType.getPrimitiveTypeName match {
    case INT32 => Int.box(reader.getInteger)
    case INT64 => Long.box(reader.getLong)
    case FLOAT => Float.box(reader.getFloat)
    case DOUBLE => Double.box(reader.getDouble)
    case BOOLEAN => Boolean.box(reader.getBoolean)
    case BINARY | FIXED_LEN_BYTE_ARRAY | INT96 => reader.getBinary
  }
}

/** A column reader wants to know where values go, which the caller of its getters decides. */
private[pmeparquet] object UnusedValues extends GroupConverter {
  override def getConverter(field: Int): Converter = Either
  override def start(): Unit = ()
  override def end(): Unit = ()

  private object Either extends PrimitiveConverter {
    override def isPrimitive: Boolean = true
    override def asGroupConverter(): GroupConverter = UnusedValues
  }
}
