package io.pmeparquet.spark.decode

import java.io.Closeable

import org.apache.parquet.column.page.PageReadStore

import io.pmeparquet.parquet.file.{RowGroupReader, SplitReader}

/** Row groups, one after the other. For one thread. */
private[spark] trait RowGroupSource extends Closeable {

  /** Moves to the next row group with wanted rows. Returns their number, or 0 after the last row group. */
  def advance(): Long

  /** The pages of the row group that [[advance]] went to. */
  def pages(): PageReadStore
}

/** The row groups of a split, unfiltered: every wanted page of every wanted column. For one thread. */
private[spark] final class PagedRowGroups(file: SplitReader, groups: Iterator[RowGroupReader])
    extends RowGroupSource {
  private var current: RowGroupReader = _

  override def advance(): Long =
    if (!groups.hasNext) 0
    else {
      current = groups.next()
      current.rowCount
    }

  override def pages(): PageReadStore = current.pages(None)

  override def close(): Unit = file.close()
}
