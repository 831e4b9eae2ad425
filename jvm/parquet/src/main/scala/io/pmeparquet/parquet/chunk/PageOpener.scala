package io.pmeparquet.parquet.chunk

import java.util.Arrays

import org.apache.parquet.format.{PageHeader, PageType}

import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.Segment
import io.pmeparquet.PmeErrors

/**
 * A page with an opened header.
 *
 * @param body where its body begins in the array of its place
 */
private[parquet] final class OpenedHeader(val header: PageHeader, val place: PagePlace, val body: Int) {
  def headerBytes: Int = body - place.index

  /** The same page, in a place with more of its bytes. */
  def in(segment: Segment): OpenedHeader = {
    val moved = place.copy(segment = segment)
    new OpenedHeader(header, moved, moved.index + headerBytes)
  }

  def isDictionary: Boolean =
    header.getType == PageType.DICTIONARY_PAGE && header.isSetDictionary_page_header

  def kind: ModuleKind = if (isDictionary) ModuleKind.DictionaryPage else ModuleKind.DataPage

  def isV1: Boolean = header.getType == PageType.DATA_PAGE && header.isSetData_page_header
  def isV2: Boolean = header.getType == PageType.DATA_PAGE_V2 && header.isSetData_page_header_v2

  /** The number of values that a data page states. */
  def values: Int =
    if (isV2) header.getData_page_header_v2.getNum_values else header.getData_page_header.getNum_values
}

/** Opens pages of one column chunk for callers that neither decompress nor decode them. For one thread. */
private[parquet] final class PageOpener(
    source: ChunkSource,
    allowClearLevels: Boolean
) {
  import source.{chunk, modules, where}
  // A checksum covers the encrypted page: if no tag covers all of it, the checksum is all there is. A copy computes the
  // checksum again, and must not make a wrong one right.
  private val tagged =
    modules.exists(_.pages.overheadBytes == ModuleFrame.GcmOverheadBytes) && !allowClearLevels
  private val headers = new PageHeaders(source, Codecs.None, verifyChecksums = !tagged)

  /** The page at the place of the dictionary; in a chunk without a key it may be another page. */
  def dictionaryAt(place: PagePlace): OpenedHeader = {
    val page = at(place, ModuleKind.DictionaryPageHeader)
    if (!page.isDictionary && modules.isDefined)
      throw PmeErrors.damaged(where, "it has another page in place of its dictionary")
    page
  }

  def dataPageAt(place: PagePlace): OpenedHeader = {
    val page = at(place, ModuleKind.DataPageHeader)
    if (!page.isV1 && !page.isV2)
      throw PmeErrors.damaged(where, s"its page ${place.ordinal} is a ${page.header.getType}")
    page
  }

  private def at(place: PagePlace, kind: ModuleKind) = {
    val (header, body) = headers.at(place, kind)
    new OpenedHeader(header, place, body)
  }

  /** The length of a page's body, checked against the rest of the chunk after its header. */
  def bodyLength(page: OpenedHeader, left: Long): Int = headers.bodyLength(page.header, left)

  /** Where a page ends; compares its checksum if it has no tag. */
  def end(page: OpenedHeader): Int = headers.bodyEnd(page.header, page.body, page.place)

  /** The content of a page, still compressed: for a V2 page its levels, then its values. */
  def content(page: OpenedHeader, end: Int): Array[Byte] =
    if (page.isV2) {
      val parts = partsOf(page, end)
      val levelBytes = levelBytesOf(page)
      val content =
        Arrays.copyOfRange(parts.levels, parts.levelsAt, parts.levelsAt + levelBytes + parts.valuesLength)
      System.arraycopy(parts.values, parts.valuesAt, content, levelBytes, parts.valuesLength)
      content
    } else
      modules match {
        case None => Arrays.copyOfRange(page.place.segment.array, page.body, end)
        case Some(ciphers) =>
          requireModule(ciphers, page.place, page.body, end, page.kind)
          val plain = new Array[Byte](end - page.body - ciphers.pages.overheadBytes)
          val bytes = page.place.segment.array
          ciphers.pages.open(bytes, page.body, end, page.kind, page.place.ordinal, plain, 0)
          plain
      }

  /** Opens the module of a page, and keeps nothing of its content. */
  def open(page: OpenedHeader, end: Int): Unit =
    if (page.isV2) {
      partsOf(page, end)
      ()
    } else open(page.place, page.body, end, page.kind)

  /** Opens the module of a page whose header may be unknown. */
  def open(place: PagePlace, body: Int, end: Int, kind: ModuleKind): Unit = modules.foreach { ciphers =>
    requireModule(ciphers, place, body, end, kind)
    ciphers.pages.open(place.segment.array, body, end, kind, place.ordinal)
  }

  private def requireModule(ciphers: ChunkModules, place: PagePlace, body: Int, end: Int, kind: ModuleKind) =
    ciphers.pages.pageEnd(place.segment.array, body, end, kind)

  private def partsOf(page: OpenedHeader, end: Int): V2Parts =
    V2Parts.of(source, page.place, page.body, end, levelBytesOf(page), allowClearLevels)

  private def levelBytesOf(page: OpenedHeader): Int = {
    val v2 = page.header.getData_page_header_v2
    val (rl, dl) = (v2.getRepetition_levels_byte_length, v2.getDefinition_levels_byte_length)
    if (rl < 0 || dl < 0 || rl.toLong + dl > page.header.getUncompressed_page_size)
      throw headers.contradiction(page.place)
    rl + dl
  }

  /** @param values of all data pages together */
  def requireAll(values: Long): Unit =
    if (values != chunk.meta.getValueCount)
      throw PmeErrors.damaged(
        where,
        s"its pages hold $values values, but its metadata states ${chunk.meta.getValueCount}"
      )
}
