package io.pmeparquet.parquet.chunk

import java.util.Arrays

import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.PmeErrors

/**
 * Decrypts the pages of one column chunk but neither decompresses nor decodes them, for copies, verification and
 * layouts; [[ChunkPages]] serves readers of values. For one thread.
 */
private[parquet] final class CompressedPageReader(source: ChunkSource, allowClearLevels: Boolean) {
  import source.{chunk, modules, where}
  // A page's checksum is that of its encrypted bytes. Where no tag covers all of them, only the checksum shows damage.
  // A copy also computes a new checksum, which must not make a damaged page look sound.
  private val tagged =
    modules.exists(_.pages.overheadBytes == ModuleFrame.GcmOverheadBytes) && !allowClearLevels
  private val headers = new PageHeaders(source, Codecs.None, verifyChecksums = !tagged)

  /** The page at a place where a dictionary may be. In a chunk without a key it may be a data page instead. */
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

  /** The length of a page's body, checked against what is left of the chunk after the header. */
  def bodyLength(page: OpenedHeader, left: Long): Int = headers.bodyLength(page.header, left)

  /** The index at which a page ends. Compares its checksum if no tag covers the page. */
  def end(page: OpenedHeader): Int = headers.bodyEnd(page.header, page.body, page.place)

  /** The decrypted content of a page, still compressed: for a V2 page its levels, then its values. */
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

  /** Decrypts the module of a page to authenticate it, and keeps none of its content. */
  def open(page: OpenedHeader, end: Int): Unit =
    if (page.isV2) {
      partsOf(page, end)
      ()
    } else open(page.place, page.body, end, page.kind)

  /** As the other [[open]], for a page whose header may not be known. */
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

  /** @param values the sum over all data pages */
  def requireAll(values: Long): Unit =
    if (values != chunk.meta.getValueCount)
      throw PmeErrors.damaged(
        where,
        s"its pages hold $values values, but its metadata states ${chunk.meta.getValueCount}"
      )
}
