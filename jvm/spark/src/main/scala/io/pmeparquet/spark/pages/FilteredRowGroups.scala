package io.pmeparquet.spark.pages

import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.spark.sql.catalyst.InternalRow

import io.pmeparquet.parquet.pages.{PagedFile, PagedRowGroup, Rows}

/**
 * The row groups of a split, of which first the filter's columns are decoded and the filter is evaluated; then only those
 * pages of all columns are read, decrypted and decoded that hold a row that passed. Where the filter lets so much
 * through that this does not pay, row groups are read as they are, and the filter is tried again from time to time.
 *
 * For one thread.
 *
 * @param filterColumns paths of the columns that the filter looks at
 * @param filterReader makes a reader of those columns, for row groups of the given source
 */
private[spark] final class FilteredRowGroups(
    file: PagedFile,
    groups: Iterator[PagedRowGroup],
    predicate: InternalRow => Boolean,
    filterColumns: Set[ColumnPath],
    filterReader: RowGroupSource => VectorizedPages
) extends RowGroupSource {
  import FilteredRowGroups._

  private var current: PagedRowGroup = _
  private var passed: Option[Rows] = None
  private var passedLast = 0.0
  private var untested = 0

  private val filterSource = new FilterSource
  private lazy val reader = filterReader(filterSource)

  override def advance(): Long = {
    var rows = 0L
    while (rows == 0 && groups.hasNext) {
      current = groups.next()
      passed = if (isWorthTesting) Some(test()).filterNot(isNearlyAll) else None
      rows = passed.fold(current.rowCount)(_.count)
    }
    rows
  }

  override def pages(): PageReadStore = current.pages(passed)

  override def close(): Unit =
    try if (filterSource.used) reader.close()
    finally file.close()

  private def isWorthTesting: Boolean = {
    val worth = current.canSkip && (passedLast < WorthWhile || untested >= RetryAfter)
    untested = if (worth) 0 else untested + 1
    worth
  }

  private def isNearlyAll(rows: Rows): Boolean = rows.count > current.rowCount * WorthWhile

  private def test(): Rows = {
    filterSource.group = Some(current)
    val kept = new Rows.Builder
    val indexes = current.rowIndexes
    while (reader.nextBatch()) {
      val rows = reader.resultBatch().rowIterator()
      while (rows.hasNext) {
        val index = indexes.nextLong()
        if (predicate(rows.next())) kept.add(index)
      }
    }
    val result = kept.result()
    passedLast = result.count.toDouble / current.rowCount
    result
  }

  /** One row group at a time, of the filter's columns only. */
  private final class FilterSource extends RowGroupSource {
    var group: Option[PagedRowGroup] = None
    var used = false
    private var reading: PagedRowGroup = _

    override def advance(): Long = group.fold(0L) { next =>
      group = None
      used = true
      reading = next
      next.rowCount
    }
    override def pages(): PageReadStore = reading.pages(filterColumns, None)
    override def close(): Unit = ()
  }
}

private object FilteredRowGroups {

  /** Above this share of rows, pages without any are rare, and decoding the filter's columns twice costs more. */
  val WorthWhile = 0.3

  /** After so many row groups read without a test, the next is tested. */
  val RetryAfter = 7
}
