package io.pmeparquet.parquet.file

import java.util.{Optional, PrimitiveIterator}

import org.apache.parquet.column.page.{PageReadStore, PageReader}
import org.apache.parquet.column.ColumnDescriptor

import io.pmeparquet.parquet.chunk.Rows

/** Pages of a row group, in the form that parquet-column's readers and Spark's take. */
private final class RowGroupPages(
    rowCount: Long,
    firstRow: Long,
    rows: Option[Rows],
    readers: Map[ColumnDescriptor, PageReader]
) extends PageReadStore {
  override def getPageReader(column: ColumnDescriptor): PageReader =
    readers.getOrElse(column, throw new IllegalArgumentException(s"internal error: $column is not read"))
  override def getRowCount: Long = rowCount
  override def getRowIndexOffset: Optional[java.lang.Long] = Optional.of(firstRow)
  override def getRowIndexes: Optional[PrimitiveIterator.OfLong] =
    rows.fold(Optional.empty[PrimitiveIterator.OfLong]())(some => Optional.of(some.iterator))
}
