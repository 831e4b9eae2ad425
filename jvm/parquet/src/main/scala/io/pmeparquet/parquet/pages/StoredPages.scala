package io.pmeparquet.parquet.pages

import java.util.Arrays

import org.apache.parquet.format.{PageHeader, PageType}

import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.PmeErrors

/**
 * A page as it is stored, decrypted and still compressed.
 *
 * @param header as the file has it
 * @param offset where it begins in the file
 * @param headerBytes what its header takes there
 * @param content for a V2 page its levels, then its values
 */
private[parquet] final class StoredPage(
    val header: PageHeader,
    val offset: Long,
    val headerBytes: Int,
    val content: Array[Byte]
) {
  def isDictionary: Boolean = header.getType == PageType.DICTIONARY_PAGE
}

/**
 * The pages of one column chunk for somebody who stores them again: decrypted one by one, neither decompressed nor
 * decoded. For one thread.
 *
 * @param segment the whole chunk
 */
private[parquet] final class StoredPages(
    chunk: Chunk,
    modules: Option[ChunkModules],
    segment: Segment,
    allowClearLevels: Boolean,
    file: String
) extends Iterator[StoredPage] {
  private val where = s"$file, column '${chunk.display}'"
  // A checksum is of the encrypted page, and so is made anew with it: where no tag covers all of a page, a wrong one must
  // not become right by that.
  private val tagged =
    modules.exists(_.pages.overheadBytes == ModuleFrame.GcmOverheadBytes) && !allowClearLevels
  private val headers = new PageHeaders(modules, Codecs.None, verifyChecksums = !tagged, where)
  private val places = new AllPages(segment)
  private var values = 0L
  private var upcoming = dictionary().orElse(dataPage())

  override def hasNext: Boolean = upcoming.isDefined

  override def next(): StoredPage = {
    val page = upcoming.getOrElse(throw new NoSuchElementException)
    upcoming = dataPage()
    page
  }

  private def dictionary(): Option[StoredPage] =
    if (!chunk.mayHaveDictionary) None
    else
      places.dictionary.flatMap { place =>
        val (header, body) = headers.at(place, ModuleKind.DictionaryPageHeader)
        if (header.getType == PageType.DICTIONARY_PAGE && header.isSetDictionary_page_header) {
          val end = headers.bodyEnd(header, body, place)
          val content = module(place, body, end, ModuleKind.DictionaryPage)
          Some(stored(header, place, body, end, content))
        } else if (modules.isEmpty) None
        else throw PmeErrors.damaged(where, "it has another page where its dictionary should be")
      }

  private def dataPage(): Option[StoredPage] = places.next() match {
    case Some(place) =>
      val (header, body) = headers.at(place, ModuleKind.DataPageHeader)
      val end = headers.bodyEnd(header, body, place)
      val content = header.getType match {
        case PageType.DATA_PAGE if header.isSetData_page_header =>
          values += header.getData_page_header.getNum_values
          module(place, body, end, ModuleKind.DataPage)
        case PageType.DATA_PAGE_V2 if header.isSetData_page_header_v2 =>
          values += header.getData_page_header_v2.getNum_values
          v2(header, place, body, end)
        case other => throw PmeErrors.damaged(where, s"its page ${place.ordinal} is a $other")
      }
      Some(stored(header, place, body, end, content))
    case None =>
      if (values != chunk.meta.getValueCount)
        throw PmeErrors.damaged(
          where,
          s"its pages hold $values values where its metadata says ${chunk.meta.getValueCount}"
        )
      None
  }

  private def stored(header: PageHeader, place: PagePlace, body: Int, end: Int, content: Array[Byte]) = {
    places.passed(place, end)
    new StoredPage(header, place.offset, body - place.index, content)
  }

  private def module(place: PagePlace, body: Int, end: Int, kind: ModuleKind): Array[Byte] = {
    val bytes = place.segment.array
    modules match {
      case None => Arrays.copyOfRange(bytes, body, end)
      case Some(ciphers) =>
        ChunkPages.moduleEnd(ciphers.pages, bytes, body, end, kind, where)
        val plain = new Array[Byte](end - body - ciphers.pages.overheadBytes)
        ciphers.pages.open(bytes, body, end, kind, place.ordinal, plain, 0)
        plain
    }
  }

  private def v2(header: PageHeader, place: PagePlace, body: Int, end: Int): Array[Byte] = {
    val page = header.getData_page_header_v2
    val (rl, dl) = (page.getRepetition_levels_byte_length, page.getDefinition_levels_byte_length)
    if (rl < 0 || dl < 0 || rl.toLong + dl > header.getUncompressed_page_size)
      throw PmeErrors.damaged(where, s"the header of its page ${place.ordinal} contradicts itself")
    val parts =
      V2Parts.of(place, body, end, rl + dl, modules.map(_.pages), allowClearLevels, file, chunk.display)
    val content =
      Arrays.copyOfRange(parts.levels, parts.levelsAt, parts.levelsAt + rl + dl + parts.valuesLength)
    System.arraycopy(parts.values, parts.valuesAt, content, rl + dl, parts.valuesLength)
    content
  }
}
