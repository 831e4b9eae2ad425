package io.pmeparquet.parquet.chunk

import scala.annotation.tailrec

import org.apache.parquet.column.page.{DataPage, DictionaryPage, PageReader}
import org.apache.parquet.format.PageType

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.PmeErrors

/**
 * The pages of one column chunk, decrypted and decompressed one by one as a reader asks for them. Every length in the
 * file is checked against what is left of the chunk before it is used. For one thread.
 *
 * With vectorized decoders a data page is valid until the reader asks for the next.
 *
 * @param pages which pages to read, and their places
 * @param memory counts the pages of this chunk and of the columns beside it, together
 * @param opened the dictionaries of the row group that are decrypted already
 * @param wanted rows of the row group; skips pages without any of them, undecrypted if their rows are known
 */
private[parquet] final class ChunkPages(
    source: ChunkSource,
    codec: Codec,
    pages: PagePlaces,
    wanted: Option[Rows],
    rules: PageRules,
    memory: PageMemory,
    opened: Dictionaries
) extends PageReader {
  import source.{chunk, where}
  private val headers = new PageHeaders(source, codec, rules.verifyChecksums)
  private val content = new PageContent(source, codec)
  private val dictionaries = new ChunkDictionary(source, pages, headers, content, memory, opened)
  private val data = new DataPages(source, codec, headers, content, rules, memory)
  private val values = chunk.meta.getValueCount
  private var valuesSeen = 0L
  private var dictionary: Option[DictionaryPage] = None
  private var dictionaryRead = false

  private var nextRow = 0L

  override def getTotalValueCount: Long = values

  override def readDictionaryPage(): DictionaryPage = {
    if (!dictionaryRead) {
      dictionary = if (chunk.mayHaveDictionary) pages.dictionary.flatMap(dictionaries.at) else None
      dictionaryRead = true
    }
    dictionary.orNull
  }

  @tailrec
  override def readPage(): DataPage = {
    // Only a look for the dictionary shows whether the first page of a chunk is one.
    readDictionaryPage()
    pages.next() match {
      case Some(place) =>
        val page = dataPage(place)
        if (page == null) readPage() else page
      case None =>
        if (pages.areAll && valuesSeen != values)
          throw PmeErrors.damaged(
            where,
            s"its pages hold $valuesSeen values, but its metadata states $values"
          )
        null
    }
  }

  /** The page, or null if none of its rows is wanted. */
  private def dataPage(place: PagePlace): DataPage = {
    val (header, body) = headers.at(place, ModuleKind.DataPageHeader)
    val end = headers.bodyEnd(header, body, place)
    pages.passed(place, end)
    header.getType match {
      case PageType.DATA_PAGE if header.isSetData_page_header =>
        val page = header.getData_page_header
        count(page.getNum_values)
        // Without repetition each value, null or not, is a row.
        val rows = rowsOf(place, if (flat) Some(page.getNum_values) else None)
        if (isWanted(rows)) data.v1(header, place, body, end, rows) else null
      case PageType.DATA_PAGE_V2 if header.isSetData_page_header_v2 =>
        val page = header.getData_page_header_v2
        count(page.getNum_values)
        if (page.getNum_rows < 0) throw headers.contradiction(place)
        val rows = rowsOf(place, Some(page.getNum_rows))
        if (isWanted(rows)) data.v2(header, place, body, end, rows) else null
      case other => throw PmeErrors.damaged(where, s"its page ${place.ordinal} is a $other")
    }
  }

  private def flat = chunk.descriptor.getMaxRepetitionLevel == 0

  private def rowsOf(place: PagePlace, counted: Option[Int]): Option[PageRows] = place.rows
    .map { rows =>
      if (counted.exists(_ != rows.count))
        throw PmeErrors.damaged(
          where,
          s"its page ${place.ordinal} has ${counted.get} rows, but its offset index states ${rows.count}"
        )
      rows
    }
    .orElse {
      counted.map { count =>
        val rows = PageRows(nextRow, count)
        nextRow += count
        rows
      }
    }

  private def isWanted(rows: Option[PageRows]): Boolean =
    wanted.forall(some => rows.forall(_.holdAny(some)))

  private def count(more: Int): Unit = {
    if (more < 0 || valuesSeen + more > values)
      throw PmeErrors.damaged(where, s"its pages hold more values than the $values of its metadata")
    valuesSeen += more
  }
}
