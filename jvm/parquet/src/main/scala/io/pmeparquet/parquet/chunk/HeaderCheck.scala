package io.pmeparquet.parquet.chunk

import org.apache.parquet.format.{PageHeader, PageType}

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.bytes.Limits
import io.pmeparquet.PmeErrors

/**
 * Checks the lengths in the page headers of one column chunk. For one thread.
 *
 * @param pages all pages of the chunk
 */
private[parquet] final class HeaderCheck(
    source: ChunkSource,
    codec: Codec,
    pages: PagePlaces,
    allowClearLevels: Boolean
) {
  import source.{chunk, file, modules}
  private val headers = new PageHeaders(source, codec, verifyChecksums = false)

  /**
   * Goes from page to page by their headers, for readers that allocate what lengths claim. Opens no page that such a
   * reader can read itself.
   *
   * @throws io.pmeparquet.PmeException if a length does not fit into its place
   */
  def run(): Unit = {
    if (chunk.mayHaveDictionary) pages.dictionary.foreach(checkHeader(_, ModuleKind.DictionaryPage))
    Iterator.continually(pages.next()).takeWhile(_.isDefined).flatten.foreach { place =>
      checkHeader(place, ModuleKind.DataPage)
    }
  }

  private def checkHeader(place: PagePlace, kind: ModuleKind): Unit = {
    val ofDictionary = kind == ModuleKind.DictionaryPage
    val (header, body) =
      headers.at(place, if (ofDictionary) ModuleKind.DictionaryPageHeader else ModuleKind.DataPageHeader)
    if (!ofDictionary || header.getType == PageType.DICTIONARY_PAGE) {
      val end = headers.bodyEnd(header, body, place)
      headers.uncompressed(header, end - body, if (ofDictionary) Limits.DictionaryBytes else Limits.PageBytes)
      modules.foreach { ciphers =>
        // Levels may precede a V2 page's module; no reader uses its length there.
        if (header.getType == PageType.DATA_PAGE_V2) checkLevels(header, ciphers.pages, place, body, end)
        else ciphers.pages.pageEnd(place.segment.array, body, end, kind)
      }
      pages.passed(place, end)
    }
  }

  /** parquet-java reads the levels of a V2 page before its module, where Arrow has none. */
  private def checkLevels(
      header: PageHeader,
      cipher: Modules,
      place: PagePlace,
      body: Int,
      end: Int
  ): Unit = {
    val page = header.getData_page_header_v2
    if (page.getRepetition_levels_byte_length != 0 || page.getDefinition_levels_byte_length != 0) {
      if (V2Parts.isInside(place.segment.array, body, end)) {
        // Only a page that opens has the layout that Arrow writes.
        cipher.open(place.segment.array, body, end, ModuleKind.DataPage, place.ordinal)
        throw PmeErrors.levelsInside(file, chunk.display)
      }
      // The chunk's own metadata need not state that it has V2 pages.
      if (!allowClearLevels) throw PmeErrors.clearLevels(file, chunk.display)
    }
  }
}
