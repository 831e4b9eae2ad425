package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.unsafe.types.UTF8String

import io.pmeparquet.columns.{ColumnNames, FilePlace, KeyTemplate}
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.spark.session.ValueTexts
import io.pmeparquet.PmeErrors

/**
 * Requires that rows have the values that name the keys of their file. The file's footer or directory states them, and its
 * key is bound to them; but whoever may write a file under one key may write any rows into it. So a query sees no value that
 * another key belongs to. What a query does not read need not be compared. For one scan. ''Crosses the wire.''
 */
private[spark] final class StatedRows private (columns: Seq[StatedRows.Column], caseSensitive: Boolean)
    extends Serializable {

  /** @param rows rows or batches of a file, with the required columns first */
  def of(rows: Iterator[InternalRow], place: FilePlace, file: String): Iterator[InternalRow] = {
    val checks = columns.flatMap(check(_, place, file))
    if (checks.isEmpty) rows
    else
      // Spark passes batches through iterators of rows, so this must not cast elements.
      new CheckedRows(rows.asInstanceOf[Iterator[AnyRef]], checks).asInstanceOf[Iterator[InternalRow]]
  }

  private def check(column: StatedRows.Column, place: FilePlace, file: String): Option[ValueCheck] = {
    val buckets = place.stated.buckets(column.name, caseSensitive)
    val fits: Option[String => Boolean] = place.value(column.name, caseSensitive) match {
      case Some(stated) => Some(text => stated.contains(text))
      case None if buckets.nonEmpty =>
        Some(text =>
          buckets.forall { case (count, number) => KeyTemplate.bucketOf(text, count).toString == number }
        )
      case None => None
    }
    fits.map { one =>
      if (!ValueTexts.areSame(column.dataType))
        throw PmeErrors.unsupported(
          s"$file, column '${column.name}'",
          s"reading a column that names keys as ${column.dataType.simpleString}",
          "its values have no text that can be compared with what the file states",
          "Read it with the type that it was written with."
        )
      new ValueCheck(column, one, () => PmeErrors.otherValue(file, column.name))
    }
  }
}

private[spark] object StatedRows {

  /** @param position in the rows of the scan */
  private[read] final case class Column(name: String, position: Int, dataType: DataType)

  /** @param required the columns that are read from files */
  def of(settings: ReadSettings, required: StructType, partitions: StructType): StatedRows = {
    val caseSensitive = settings.columns.exists(_.caseSensitive)
    def isSame(one: String, other: String) = ColumnNames.isSame(one, other, caseSensitive)
    val named = settings.columns.toSeq
      .flatMap(_.keyColumns)
      .filterNot(column => partitions.exists(field => isSame(field.name, column)))
    val columns = required.fields.toSeq.zipWithIndex.collect {
      case (field, at) if named.exists(isSame(_, field.name)) => Column(field.name, at, field.dataType)
    }
    new StatedRows(columns, caseSensitive)
  }
}

/** Compares the values of one column of one file. For one thread. ''Executor only.'' */
private final class ValueCheck(column: StatedRows.Column, fits: String => Boolean, refusal: () => Exception) {
  private var last: Any = _

  def require(row: InternalRow): Unit = {
    val value = if (row.isNullAt(column.position)) null else row.get(column.position, column.dataType)
    // Most values are that of the row before.
    if (value == null || value != last) {
      if (value == null || !fits(textOf(value))) throw refusal()
      last = value match {
        case text: UTF8String => text.copy()
        case other => other
      }
    }
  }

  private def textOf(value: Any): String = value match {
    case text: UTF8String => text.toString
    case other => ValueTexts.of(Literal(other, column.dataType)).eval().toString
  }
}

/** ''Executor only.'' */
private final class CheckedRows(elements: Iterator[AnyRef], checks: Seq[ValueCheck])
    extends Iterator[AnyRef]
    with java.io.Closeable {
  override def hasNext: Boolean = elements.hasNext

  override def next(): AnyRef = {
    val element = elements.next()
    element match {
      case batch: ColumnarBatch =>
        checks.foreach(check => (0 until batch.numRows).foreach(at => check.require(batch.getRow(at))))
      case row: InternalRow => checks.foreach(_.require(row))
      case other =>
        throw new IllegalStateException(s"internal error: a scan returns ${other.getClass.getName}")
    }
    element
  }

  override def close(): Unit = elements match {
    case closeable: java.io.Closeable => closeable.close()
    case _ => ()
  }
}
