package io.pmeparquet.spark.pages

import org.apache.parquet.column.page.PageReadStore

import io.pmeparquet.parquet.pages.{PagedFile, PagedRowGroup}

/** The row groups of a split as they are, every wanted page of every wanted column. For one thread. */
private[spark] final class PagedRowGroups(file: PagedFile, groups: Iterator[PagedRowGroup])
    extends RowGroupSource {
  private var current: PagedRowGroup = _

  override def advance(): Long =
    if (!groups.hasNext) 0
    else {
      current = groups.next()
      current.rowCount
    }

  override def pages(): PageReadStore = current.pages(None)

  override def close(): Unit = file.close()
}
