package io.pmeparquet.parquet.chunk

import org.apache.parquet.format.{PageHeader, PageType}

import io.pmeparquet.parquet.bytes.Segment

/**
 * A page as the file stores it, but decrypted; still compressed.
 *
 * @param header the file's header
 * @param offset where the page begins in the file
 * @param headerBytes the length of its header in the file
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
 * The pages of one column chunk for a copy: decrypted one by one, neither decompressed nor decoded. For one thread.
 *
 * @param segment the whole chunk
 */
private[parquet] final class StoredPages(
    source: ChunkSource,
    segment: Segment,
    allowClearLevels: Boolean
) extends Iterator[StoredPage] {
  private val reader = new CompressedPageReader(source, allowClearLevels)
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
    if (!source.chunk.mayHaveDictionary) None
    else
      places.dictionary.flatMap { place =>
        val page = reader.dictionaryAt(place)
        if (page.isDictionary) Some(stored(page)) else None
      }

  private def dataPage(): Option[StoredPage] = places.next() match {
    case Some(place) =>
      val page = reader.dataPageAt(place)
      values += page.values
      Some(stored(page))
    case None =>
      reader.requireAll(values)
      None
  }

  private def stored(page: OpenedHeader) = {
    val end = reader.end(page)
    val content = reader.content(page, end)
    places.passed(page.place, end)
    new StoredPage(page.header, page.place.offset, page.headerBytes, content)
  }
}
