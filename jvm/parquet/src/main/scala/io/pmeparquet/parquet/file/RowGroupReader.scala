package io.pmeparquet.parquet.file

import java.util.{Optional, PrimitiveIterator}
import java.util.stream.LongStream

import scala.collection.mutable

import org.apache.parquet.column.page.{PageReadStore, PageReader}
import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.hadoop.metadata.ColumnPath

import io.pmeparquet.parquet.bytes.{Range, Segment}
import io.pmeparquet.parquet.chunk.{
  AllPages,
  Chunk,
  Dictionaries,
  PageMemory,
  PagePlace,
  PagePlaces,
  PageRows,
  PageRules,
  RowGroupChunks,
  Rows,
  SomePages
}

/**
 * A row group of which a query wants some rows. Nothing of it is read yet except metadata and indexes. For one thread.
 *
 * @param found the indexes read to select rows, if any
 * @param selected the rows that the page index leaves; none for all
 */
final class RowGroupReader private[file] (
    input: FileInput,
    opened: RowGroupChunks,
    found: Option[RowGroupIndexes],
    val selected: Option[Rows],
    rules: PageRules,
    dictionaries: Dictionaries
) {
  private val file = input.file
  private val index = opened.rowGroup

  def chunks: Seq[Chunk] = opened.chunks

  /** The places of the pages. Not read before some of them can be skipped. */
  private lazy val indexes: Option[RowGroupIndexes] = found.orElse(input.indexes.read(chunks, Set.empty))

  private val segments = mutable.Map.empty[Range, Segment]

  /** The number of rows to read. */
  def rowCount: Long = selected.fold(file.rowCount(index))(_.count)

  /** Whether single rows can be found without reading all pages of all columns. */
  def canSkip: Boolean =
    chunks.forall(_.descriptor.getMaxRepetitionLevel == 0) || chunks.forall(
      _.meta.getOffsetIndexReference != null
    )

  /** The rows to read, by their index in the row group. */
  def rowIndexes: PrimitiveIterator.OfLong =
    selected.fold(LongStream.range(0, file.rowCount(index)).iterator())(_.iterator)

  /**
   * The cost of decoding all of some columns, to compare with that of others: bytes, plus a constant for each value.
   */
  def cost(columns: Set[ColumnPath]): Long =
    chunksOf(columns)
      .map(_.meta)
      .map(meta => meta.getTotalUncompressedSize + RowGroupReader.ValueCost * meta.getValueCount)
      .sum

  private def chunksOf(columns: Set[ColumnPath]) =
    chunks.filter(chunk => columns.contains(chunk.meta.getPath))

  /** The share of the pages of some columns, by size, that hold any of some rows; none if pages are not known. */
  def share(columns: Set[ColumnPath], rows: Rows): Option[Double] = indexes.map { offsets =>
    val pages = chunksOf(columns).flatMap(pagesOf(_, offsets))
    val all = pages.map(_.range.length.toDouble).sum
    if (all == 0) 1.0 else pages.filter(_.rows.holdAny(rows)).map(_.range.length.toDouble).sum / all
  }

  /** The number of rows in a page of some columns; if columns differ, the highest average. */
  def rowsPerPage(columns: Set[ColumnPath]): Long = {
    val pages = for {
      offsets <- indexes.toSeq
      chunk <- chunksOf(columns)
    } yield offsets.getOffsetIndex(chunk.meta.getPath).getPageCount.max(1)
    if (pages.isEmpty) RowGroupReader.UsualRowsPerPage else file.rowCount(index) / pages.min
  }

  /** The paths of all columns to read. */
  lazy val columns: Set[ColumnPath] = chunks.map(_.meta.getPath).toSet

  /** The pages of all columns to read. */
  def pages(wanted: Option[Rows]): PageReadStore = pages(columns, wanted)

  /**
   * The pages of some columns, in as few requests as their places allow.
   *
   * @param wanted the rows; none for [[selected]]
   */
  def pages(columns: Set[ColumnPath], wanted: Option[Rows]): PageReadStore = {
    val rows = wanted.orElse(selected)
    val read = chunksOf(columns)
    val ranges = read.map(chunk => rangesOf(chunk, rows))
    fetch(ranges.flatMap(_.all))
    val memory = new PageMemory
    val readers = read
      .zip(ranges)
      .map { case (chunk, places) =>
        val pages: PageReader = input.pages(chunk, placesOf(places), rows, rules, memory, dictionaries)
        chunk.descriptor -> pages
      }
      .toMap
    new RowGroupPages(rows.fold(file.rowCount(index))(_.count), file.firstRow(index), rows, readers)
  }

  private def rangesOf(chunk: Chunk, rows: Option[Rows]): Places =
    rows.flatMap(some => indexes.map(some -> _)) match {
      case Some((some, offsets)) =>
        val pages = pagesOf(chunk, offsets)
        val start = chunk.meta.getStartingPos
        val before = pages.headOption.fold(0L)(_.range.offset - start)
        Parts(
          if (before > 0) Some(file.rangeOf(chunk, start, before)) else None,
          pages.filter(_.rows.holdAny(some))
        )
      case _ => Whole(file.rangeOf(chunk))
    }

  /** The data pages of a chunk, at the places that its offset index states. */
  private def pagesOf(chunk: Chunk, offsets: RowGroupIndexes): Seq[IndexedPage] = {
    val index = offsets.getOffsetIndex(chunk.meta.getPath)
    (0 until index.getPageCount).map { page =>
      val first = index.getFirstRowIndex(page)
      val last = index.getLastRowIndex(page, file.rowCount(this.index))
      IndexedPage(
        Range(index.getOffset(page), index.getCompressedPageSize(page)),
        page,
        PageRows(first, (last - first + 1).toInt)
      )
    }
  }

  private def fetch(ranges: Seq[Range]): Unit = {
    val missing = ranges.filterNot(range => segments.values.exists(_.holds(range)))
    segments ++= missing.zip(input.bytes.readAll(missing))
  }

  private def segment(range: Range): Segment =
    segments.getOrElse(range, segments.values.find(_.holds(range)).get.slice(range))

  private def placesOf(places: Places): PagePlaces = places match {
    case Whole(range) => new AllPages(segment(range))
    case Parts(dictionary, pages) =>
      new SomePages(
        dictionary.map(range => PagePlace(segment(range), range.offset, 0, None)),
        pages.map(page => PagePlace(segment(page.range), page.range.offset, page.ordinal, Some(page.rows)))
      )
  }
}

private object RowGroupReader {

  /** Decoding a value takes about as long as decrypting and decompressing this many bytes. */
  val ValueCost = 8L

  /** The most rows in a page by parquet-java's default, for pages whose rows are not known. */
  val UsualRowsPerPage = 20000L
}

/** The parts of a chunk to read. */
private sealed trait Places { def all: Seq[Range] }
private final case class Whole(range: Range) extends Places {
  override def all: Seq[Range] = Seq(range)
}
private final case class Parts(dictionary: Option[Range], pages: Seq[IndexedPage]) extends Places {
  override def all: Seq[Range] = dictionary.toSeq ++ pages.map(_.range)
}

/** A data page at the place that an offset index states; `ordinal` is its number in its chunk. */
private final case class IndexedPage(range: Range, ordinal: Int, rows: PageRows)

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
