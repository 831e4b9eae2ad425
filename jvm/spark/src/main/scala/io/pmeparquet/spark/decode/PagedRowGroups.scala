package io.pmeparquet.spark.decode

import org.apache.parquet.column.page.PageReadStore

import io.pmeparquet.parquet.file.{RowGroupReader, SplitReader}

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
