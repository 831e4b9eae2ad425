package io.pmeparquet.spark.decode

import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.spark.sql.catalyst.InternalRow

import io.pmeparquet.parquet.chunk.Rows
import io.pmeparquet.parquet.file.{RowGroupReader, SplitReader}

/**
 * The row groups of a split, filtered first. For each row group this class decodes the filter's columns and evaluates
 * the filter. Then it reads, decrypts and decodes only those pages of all columns that have a matching row. That does
 * not pay if the other columns are small or if most rows match: then it reads row groups whole, and tries the filter
 * again from time to time.
 *
 * For one thread.
 *
 * @param filterColumns paths of the columns that the filter looks at
 * @param filterReader makes a reader of those columns, for the row groups of a source
 */
private[spark] final class FilteredRowGroups(
    file: SplitReader,
    groups: Iterator[RowGroupReader],
    predicate: InternalRow => Boolean,
    filterColumns: Set[ColumnPath],
    filterReader: RowGroupSource => VectorizedPages
) extends RowGroupSource {
  import FilteredRowGroups._

  // Tries the filter on every row group, and never gives up.
  private val always = java.lang.Boolean.getBoolean(AlwaysProperty)

  private var current: RowGroupReader = _
  private var passed: Option[Rows] = None
  private var untested = 0

  // The share of pages with matching rows in the row group tested last. At first it assumes none.
  private var pagesLast = 0.0

  private val filterSource = new FilterSource
  private var reader: Option[VectorizedPages] = None

  override def advance(): Long = {
    var rows = 0L
    while (rows == 0 && groups.hasNext) {
      current = groups.next()
      passed = if (isWorthTesting) test() else None
      rows = passed.fold(current.rowCount)(_.count)
    }
    rows
  }

  override def pages(): PageReadStore = current.pages(passed)

  override def close(): Unit =
    try closeReader()
    finally file.close()

  private def closeReader(): Unit = {
    reader.foreach(_.close())
    reader = None
  }

  private def others = current.columns -- filterColumns

  private def isWorthTesting: Boolean = {
    val worth = current.canSkip && (always || paysWith(pagesLast) || (untested >= RetryAfter && paysWith(0)))
    untested = if (worth) 0 else untested + 1
    worth
  }

  /** Whether skipping pages of the other columns saves more than the filter and its columns cost. */
  private def paysWith(pages: Double): Boolean = {
    val test = current.cost(filterColumns) + FilterCost * current.rowCount
    pages < MostPages && (1 - pages) * current.cost(others) > test
  }

  /** The matching rows. None if they are on most pages: then it is cheaper to read the row group whole. */
  private def test(): Option[Rows] = {
    filterSource.group = Some(current)
    val batches = reader.getOrElse(filterReader(filterSource))
    reader = Some(batches)
    val kept = new Rows.Builder
    val pages = new PagesHit(current.rowsPerPage(others))
    val indexes = current.rowIndexes
    def givenUp = !always && pages.areMost
    while (!givenUp && batches.nextBatch()) {
      val rows = batches.resultBatch().rowIterator()
      while (rows.hasNext) {
        val index = indexes.nextLong()
        val passes = predicate(rows.next())
        if (passes) kept.add(index)
        pages.add(passes)
      }
    }
    if (givenUp) {
      // The reader is in the middle of a row group, and cannot continue with another.
      closeReader()
      pagesLast = 1
      None
    } else {
      val rows = kept.result()
      pagesLast = if (rows.isEmpty) 0 else current.share(others, rows).getOrElse(pages.share)
      Some(rows).filter(_ => always || pagesLast < MostPages)
    }
  }

  /** One row group at a time, with only the filter's columns. */
  private final class FilterSource extends RowGroupSource {
    var group: Option[RowGroupReader] = None
    private var reading: RowGroupReader = _

    override def advance(): Long = group.fold(0L) { next =>
      group = None
      reading = next
      next.rowCount
    }
    override def pages(): PageReadStore = reading.pages(filterColumns, None)
    override def close(): Unit = ()
  }
}

private object FilteredRowGroups {

  /** A system property for tests: their row groups are too small for filtering first to pay. */
  val AlwaysProperty = "io.pmeparquet.test.filterFirst"

  /** If a larger share of pages has matching rows, skipping the others saves less than finding them costs. */
  val MostPages = 0.7

  /** This many pages show which share of pages has matching rows. */
  val PagesSeen = 4

  /** Evaluating a filter on a row takes about as long as decrypting and decompressing this many bytes. */
  val FilterCost = 24L

  /** After this many row groups without a test, the next is tested. */
  val RetryAfter = 7

  /** Counts pages with matching rows, as if the pages of all columns had the same number of rows. */
  final class PagesHit(rowsPerPage: Long) {
    private var seen = 0
    private var hit = 0
    private var rowsOfPage = 0L
    private var hitPage = false

    def add(passes: Boolean): Unit = {
      rowsOfPage += 1
      hitPage ||= passes
      if (rowsOfPage >= rowsPerPage) {
        seen += 1
        if (hitPage) hit += 1
        rowsOfPage = 0
        hitPage = false
      }
    }

    /** The share of the pages seen so far, including the unfinished one. */
    def share: Double = {
      val begun = if (rowsOfPage > 0) 1 else 0
      (hit + (if (hitPage) 1 else 0)).toDouble / (seen + begun).max(1)
    }

    def areMost: Boolean = seen >= PagesSeen && hit > seen * MostPages
  }
}
