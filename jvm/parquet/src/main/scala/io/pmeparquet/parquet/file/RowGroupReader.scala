package io.pmeparquet.parquet.file

import java.io.Closeable
import java.util.{Optional, PrimitiveIterator}
import java.util.stream.LongStream

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.column.page.{PageReadStore, PageReader}
import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.parquet.hadoop.ParquetInputFormat

import io.pmeparquet.parquet.bytes.{FileBytes, ParquetFailures, Range, ReadCounters, Segment}
import io.pmeparquet.parquet.chunk._
import io.pmeparquet.parquet.scope.ReadScope

/**
 * A row group with rows that a query wants. Only its metadata and indexes are read yet. For one thread.
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
    val parts = read.map(chunk => partsOf(chunk, rows))
    fetch(parts.flatMap(_._1))
    val memory = new PageMemory
    val readers = read
      .zip(parts)
      .map { case (chunk, (_, places)) =>
        val pages: PageReader = input.pages(chunk, places(), rows, rules, memory, dictionaries)
        chunk.descriptor -> pages
      }
      .toMap
    new RowGroupPages(rows.fold(file.rowCount(index))(_.count), file.firstRow(index), rows, readers)
  }

  /** What to read of a chunk, and the places of its pages once that is read. */
  private def partsOf(chunk: Chunk, rows: Option[Rows]): (Seq[Range], () => PagePlaces) =
    rows.flatMap(some => indexes.map(some -> _)) match {
      case Some((some, offsets)) =>
        val all = pagesOf(chunk, offsets)
        val start = chunk.meta.getStartingPos
        val before = all.headOption.fold(0L)(_.range.offset - start)
        val dictionary = if (before > 0) Some(file.rangeOf(chunk, start, before)) else None
        val pages = all.filter(_.rows.holdAny(some))
        val places = () =>
          new SomePages(
            dictionary.map(range => PagePlace(segment(range), range.offset, 0, None)),
            pages.iterator.map(page =>
              PagePlace(segment(page.range), page.range.offset, page.ordinal, Some(page.rows))
            )
          )
        (dictionary.toSeq ++ pages.map(_.range)) -> places
      case _ =>
        val whole = file.rangeOf(chunk)
        Seq(whole) -> (() => new AllPages(segment(whole)))
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

}

private object RowGroupReader {

  /** Decoding a value takes about as long as decrypting and decompressing this many bytes. */
  val ValueCost = 8L

  /** The most rows in a page by parquet-java's default, for pages whose rows are not known. */
  val UsualRowsPerPage = 20000L
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

/** An open file with what one task needs to read it: a stream and counters. For one thread. */
private[file] final class FileInput(val file: OpenFile, conf: Configuration, val counters: ReadCounters)
    extends Closeable {
  val bytes: FileBytes = file.bytes(conf, counters)
  val indexes: Indexes = new Indexes(file, bytes, counters)

  def rules(scope: ReadScope, vectorized: Boolean): PageRules = PageRules(
    scope.settings.allowClearLevels,
    conf.getBoolean(ParquetInputFormat.PAGE_VERIFY_CHECKSUM_ENABLED, false),
    vectorized
  )

  def codecOf(chunk: Chunk): Codec = Codecs.of(chunk.meta.getCodec)

  /** The pages of a chunk, for [[ChunkPages]]. */
  def pages(
      chunk: Chunk,
      places: PagePlaces,
      wanted: Option[Rows],
      rules: PageRules,
      memory: PageMemory,
      opened: Dictionaries
  ): ChunkPages =
    new ChunkPages(file.source(chunk, counters), codecOf(chunk), places, wanted, rules, memory, opened)

  override def close(): Unit = bytes.close()
}

/**
 * The pages, indexes and Bloom filters of an open file, for callers that look at whole columns and not at rows. It reads nothing
 * before it is asked. For one thread.
 *
 * @param scope in which the file was opened
 * @param clearLevels whether levels outside modules are read, if not as the scope says
 */
private[parquet] final class ColumnPages(
    scope: ReadScope,
    file: OpenFile,
    conf: Configuration,
    counters: ReadCounters,
    clearLevels: Option[Boolean] = None
) extends Closeable {
  private val input = new FileInput(file, conf, counters)
  // Values of one page are kept while the next is read.
  private val rules = {
    val ofScope = input.rules(scope, vectorized = false)
    ofScope.copy(allowClearLevels = clearLevels.getOrElse(ofScope.allowClearLevels))
  }

  def indexes: Indexes = input.indexes

  /** All pages of some chunks of a row group, each decrypted when it is read. */
  def of(chunks: RowGroupChunks): PageReadStore =
    new RowGroupReader(input, chunks, None, None, rules, new Dictionaries).pages(None)

  /** What decoding gives; whatever a decoder does not take is damage. */
  def named[A](what: String)(decode: => A): A = ParquetFailures.naming(file.version.path, what)(decode)

  /** The page of a chunk at a place, or its dictionary. */
  def place(range: Range, ordinal: Int): PagePlace =
    PagePlace(input.bytes.read(range), range.offset, ordinal, None)

  /**
   * Some pages of a chunk.
   *
   * @param opened its dictionary, once it is read
   */
  def some(
      chunk: Chunk,
      dictionary: Option[PagePlace],
      places: Iterator[PagePlace],
      opened: Dictionaries
  ): PageReader =
    input.pages(chunk, new SomePages(dictionary, places), None, rules, new PageMemory, opened)

  override def close(): Unit = input.close()
}
