package io.pmeparquet.parquet.recover

import java.util.BitSet

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.format.PageType
import org.apache.parquet.internal.column.columnindex.OffsetIndex
import org.apache.parquet.VersionParser.ParsedVersion

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.parquet.bytes.Range
import io.pmeparquet.parquet.chunk.{Chunk, Dictionaries, OpenedHeader, PagePlace}
import io.pmeparquet.parquet.file.ColumnPages
import io.pmeparquet.parquet.verify.FoundParts

/**
 * A page that opens.
 *
 * @param number its number among the data pages of its chunk; 0 for the dictionary
 */
private[recover] final case class FoundPage(number: Int, range: Range)

/** What a walk found of one chunk. For one thread. */
private[recover] final class FoundChunk(val chunk: Chunk) {
  val pages: mutable.ArrayBuffer[FoundPage] = mutable.ArrayBuffer.empty
  var dictionary: Option[FoundPage] = None

  /** The dictionary, once it is decrypted. */
  val dictionaries = new Dictionaries

  /** Of the column, for messages. */
  def name: String = s"column '${chunk.display}'"

  /** How many values each data page has whose header opens, by its number. */
  val values: mutable.Map[Int, Int] = mutable.Map.empty

  def add(number: Option[Int], page: OpenedHeader, length: Int): Unit = {
    val found = FoundPage(number.getOrElse(0), Range(page.place.offset, page.headerBytes + length))
    if (number.isEmpty) dictionary = Some(found) else pages += found
  }
}

/** Keeps what a walk finds, by row group and leaf. */
private[recover] final class Found(override val wantsPlaintext: Boolean) extends FoundParts {
  private val chunks = mutable.Map.empty[(Int, Int), FoundChunk]

  def of(group: Int, ordinal: Int): Option[FoundChunk] = chunks.get((group, ordinal))

  override def chunk(group: Int, chunk: Chunk): Unit = chunks((group, chunk.ordinal)) = new FoundChunk(chunk)

  override def header(group: Int, chunk: Chunk, number: Int, page: OpenedHeader): Unit =
    chunks((group, chunk.ordinal)).values(number) = page.values

  override def page(group: Int, chunk: Chunk, number: Option[Int], page: OpenedHeader, length: Int): Unit =
    chunks((group, chunk.ordinal)).add(number, page, length)
}

/**
 * A page whose rows are known.
 *
 * @param first the first row that begins in it, by its index in its row group; values before that are of the row before
 * @param rows how many begin in it
 */
private[recover] final case class SoundPage(found: FoundPage, first: Int, rows: Int)

/**
 * The sound pages of a leaf column in one row group. For one thread.
 *
 * @param lost the rows that have no value in them, or only a part of one
 */
private[recover] final class SoundChunk(
    val descriptor: ColumnDescriptor,
    val chunk: Option[FoundChunk],
    val pages: IndexedSeq[SoundPage],
    val lost: BitSet
)

/**
 * Finds the rows of the pages of a chunk that open. An offset index states them. Where there is none, the rows of each
 * page are counted from the chunk's start until a page is missing, and, if the column's metadata states how many pages
 * there are, from the last one back to the last that is missing. Pages between two such places are lost, because nothing
 * shows which rows they hold. Where a page is in the file shows nothing: no tag covers that. For one thread.
 *
 * @param offsets the chunk's offset index, if it has one that opens
 * @param undecoded gets the pages that open and do not decode, or whose rows contradict the index
 * @param isRebuilt whether the column's metadata were made from the pages that were found, and state nothing of others
 */
private[recover] final class ChunkRecovery(
    input: ColumnPages,
    found: FoundChunk,
    offsets: Option[OffsetIndex],
    writer: ParsedVersion,
    undecoded: (Int, PmeException) => Unit,
    isRebuilt: Boolean
) {
  import found.chunk
  import ChunkRecovery._
  private val rowCount = chunk.rowCount.toInt
  private val descriptor = chunk.descriptor
  private val isFlat = descriptor.getMaxRepetitionLevel == 0

  /** The number of the last page; none if nothing that was sealed states it. */
  private val last: Option[Int] = if (isRebuilt) None else stated.orElse(complete)

  private def stated = Option(chunk.struct.getMeta_data)
    .flatMap(metadata => Option(metadata.getEncoding_stats))
    .map(_.asScala.filter(one => OfData(one.getPage_type)).map(_.getCount).sum - 1)

  /** Of a chunk whose pages have all the values that its metadata state. */
  private def complete = Some(found.values.size - 1).filter { number =>
    (0 to number).forall(found.values.contains) && found.values.values
      .map(_.toLong)
      .sum == chunk.meta.getValueCount
  }

  def sound(): SoundChunk = {
    val decoded = found.pages.toIndexedSeq.flatMap(decode)
    // Where a page begins within a row, an index does not say where rows end.
    val index = offsets.filter(_ => decoded.forall(_.isWhole))
    val placed = index.fold(counted(decoded))(indexed(decoded, _))
    // Rows of one page are those of no other, whatever an index or a count says.
    val pages = if (isInOrder(placed)) placed else IndexedSeq.empty
    val lost = RowSet.all(rowCount)
    pages.foreach(page => lost.clear(page.first, page.first + page.rows))
    if (!isFlat && index.isEmpty) loseCutRows(pages, lost)
    new SoundChunk(descriptor, Some(found), pages, lost)
  }

  private def decode(page: FoundPage): Option[Decoded] =
    try {
      var rows, values = 0
      var isWhole = true
      // Storage that fails is no damage.
      val places = ChunkRecovery.places(input, found, page)
      input.named(s"page ${page.number} of column '${chunk.display}'") {
        ChunkRecovery.values(input, found, places, writer).foreach { reader =>
          if (reader.getCurrentRepetitionLevel == 0) rows += 1 else if (values == 0) isWhole = false
          values += 1
        }
      }
      Some(Decoded(page, rows, isWhole))
    } catch {
      case failed: PmeException if !PmeException.isOfCancelled(failed) =>
        undecoded(page.number, failed)
        None
    }

  private def indexed(decoded: IndexedSeq[Decoded], index: OffsetIndex): IndexedSeq[SoundPage] =
    decoded.flatMap { case Decoded(page, rows, isWhole) =>
      val fits =
        page.number < index.getPageCount && index.getOffset(page.number) == page.range.offset && isWhole
      val first = if (fits) index.getFirstRowIndex(page.number) else 0L
      if (fits && index.getLastRowIndex(page.number, chunk.rowCount) - first + 1 == rows)
        Some(SoundPage(page, first.toInt, rows))
      else {
        undecoded(page.number, contradicted(page.number))
        None
      }
    }

  private def contradicted(page: Int) =
    PmeErrors.damaged(found.name, s"its offset index contradicts its page $page")

  private def counted(decoded: IndexedSeq[Decoded]): IndexedSeq[SoundPage] = {
    val byNumber = decoded.map(one => one.page.number -> one).toMap
    val (before, stopped, seen, next) = forward(byNumber)
    if (stopped && seen == rowCount) before
    else before ++ last.fold(IndexedSeq.empty[SoundPage])(backward(byNumber, _, seen, next))
  }

  /**
   * The pages up to the first whose rows are not known, whether it is the end, how many rows these have, and that page's
   * number.
   */
  private def forward(decoded: Map[Int, Decoded]): (IndexedSeq[SoundPage], Boolean, Int, Int) = {
    val pages = IndexedSeq.newBuilder[SoundPage]
    var row = 0L
    var number = 0
    def header = if (isFlat) found.values.get(number) else None
    while (row <= rowCount && (decoded.contains(number) || header.isDefined)) {
      decoded.get(number).foreach(one => pages += SoundPage(one.page, row.toInt, one.rows))
      row += decoded.get(number).fold(header.get)(_.rows)
      number += 1
    }
    (pages.result(), row >= rowCount, row.min(rowCount.toLong).toInt, number)
  }

  /** The pages from the last one back to the last whose rows are not known, or to one that was counted from the start. */
  private def backward(
      decoded: Map[Int, Decoded],
      last: Int,
      until: Int,
      first: Int
  ): IndexedSeq[SoundPage] = {
    var pages = List.empty[SoundPage]
    var row = rowCount
    var number = last
    def header = if (isFlat) found.values.get(number) else None
    while (row > until && number >= first && (decoded.contains(number) || header.isDefined)) {
      row -= decoded.get(number).fold(header.get)(_.rows)
      decoded.get(number).filter(_ => row >= until).foreach { one =>
        pages = SoundPage(one.page, row, one.rows) :: pages
      }
      number -= 1
    }
    pages.toIndexedSeq
  }

  private def isInOrder(pages: IndexedSeq[SoundPage]): Boolean = {
    val ends =
      pages.scanLeft(0)((end, page) => if (page.first < end) Int.MaxValue else page.first + page.rows)
    ends.last <= rowCount
  }

  /** A row may go on in the next page; if that is lost, the row is as well. */
  private def loseCutRows(pages: IndexedSeq[SoundPage], lost: BitSet): Unit = {
    val present = pages.map(_.found.number).toSet
    for (page <- pages if !present(page.found.number + 1) && !last.contains(page.found.number))
      lost.set((page.first + page.rows - 1).max(0))
  }
}

private[recover] object ChunkRecovery {
  private val OfData = Set(PageType.DATA_PAGE, PageType.DATA_PAGE_V2)

  /**
   * @param rows how many begin in it
   * @param isWhole whether its first value begins a row
   */
  private final case class Decoded(page: FoundPage, rows: Int, isWhole: Boolean)

  /** The bytes of a page, and of its chunk's dictionary. */
  def places(input: ColumnPages, found: FoundChunk, page: FoundPage): PagePlaces =
    PagePlaces(input.place(page.range, page.number), found.dictionary.map(one => input.place(one.range, 0)))

  /** The values of a page of a chunk. */
  def values(input: ColumnPages, found: FoundChunk, places: PagePlaces, writer: ParsedVersion): PageValues = {
    val pages = input.some(found.chunk, places.dictionary, Iterator(places.page), found.dictionaries)
    val dictionary = pages.readDictionaryPage()
    new PageValues(found.chunk.descriptor, pages.readPage(), dictionary, writer)
  }

  final case class PagePlaces(page: PagePlace, dictionary: Option[PagePlace])
}
