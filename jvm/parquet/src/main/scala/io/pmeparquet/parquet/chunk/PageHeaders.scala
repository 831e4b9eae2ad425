package io.pmeparquet.parquet.chunk

import java.io.ByteArrayInputStream
import java.util.zip.CRC32

import org.apache.parquet.format.{PageHeader, Util}

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.bytes.{FileTail, Limits, ThriftBounds}

/**
 * Opens the page headers of one chunk, and checks their lengths. A check in [[at]] applies to reads, copies,
 * verification and layouts; a check in [[uncompressed]] only to readers that decompress pages, and to `HeaderCheck`.
 * For one thread.
 */
private[parquet] final class PageHeaders(
    source: ChunkSource,
    codec: Codec,
    verifyChecksums: Boolean
) {
  import source.{modules, where}

  /** The page header at a place, and the array index where the page's body begins. */
  def at(place: PagePlace, kind: ModuleKind): (PageHeader, Int) = {
    val segment = place.segment
    val from = place.index
    modules match {
      case None =>
        val end = FileTail.parse(where, "a page header")(ThriftBounds.end(segment.array, from, segment.until))
        (parsed(segment.array, from, end), end)
      case Some(ciphers) =>
        val headers = ciphers.headers
        val end = headers.end(segment.array, from, segment.until, Limits.PageHeaderBytes, kind)
        val length = headers.open(segment.array, from, end, kind, place.ordinal)
        // parquet-java leaves zero bytes after the header.
        val struct = FileTail.parse(where, "a page header")(ThriftBounds.end(headers.plaintext, 0, length))
        (parsed(headers.plaintext, 0, struct), end)
    }
  }

  private def parsed(bytes: Array[Byte], at: Int, end: Int): PageHeader =
    FileTail.parse(where, "a page header")(Util.readPageHeader(new ByteArrayInputStream(bytes, at, end - at)))

  /** The array index at which a page ends whose body begins at `body`. Compares its checksum if asked to. */
  def bodyEnd(header: PageHeader, body: Int, place: PagePlace): Int = {
    val end = body + bodyLength(header, (place.segment.until - body).toLong)
    compareChecksum(header, place.segment.array, body, end)
    end
  }

  def contradiction(place: PagePlace): PmeException =
    PmeErrors.damaged(where, s"the header of its page ${place.ordinal} contradicts itself")

  /** @param left the bytes of the column chunk after the header */
  def bodyLength(header: PageHeader, left: Long): Int = {
    val length = header.getCompressed_page_size
    if (length < 0 || length > left)
      throw PmeErrors.damaged(
        where,
        s"the length of a page is $length bytes, but $left bytes of its column chunk are left"
      )
    length
  }

  private def compareChecksum(header: PageHeader, bytes: Array[Byte], body: Int, end: Int): Unit =
    if (verifyChecksums && header.isSetCrc) {
      val crc = new CRC32
      crc.update(bytes, body, end - body)
      if (crc.getValue.toInt != header.getCrc)
        throw PmeErrors.damaged(where, "the checksum of a page does not match")
    }

  /** The length that a page claims to decompress to, checked before anything allocates it. */
  def uncompressed(header: PageHeader, length: Int, limit: Int): Int = {
    val size = header.getUncompressed_page_size
    if (size < 0 || size > limit)
      throw PmeErrors.damaged(
        where,
        s"a page states that it decompresses to $size bytes; with this heap size at most $limit are accepted"
      )
    if (size > length.toLong * codec.mostPerByte + PageHeaders.LevelSlackBytes)
      throw PmeErrors.damaged(
        where,
        s"a page of $length bytes states that it decompresses to $size bytes, which its codec cannot do"
      )
    size
  }
}

private object PageHeaders {

  /** For the levels that short pages have besides their values. */
  val LevelSlackBytes = 64
}
