package io.pmeparquet.parquet.chunk

import java.io.ByteArrayInputStream
import java.util.zip.CRC32

import org.apache.parquet.format.{PageHeader, PageType, Util}

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{FileTail, Limits, Segment, ThriftBounds}

/**
 * A page whose header is decrypted and parsed.
 *
 * @param body the index at which its body begins in the array of its place
 */
private[parquet] final class OpenedHeader(val header: PageHeader, val place: PagePlace, val body: Int) {
  def headerBytes: Int = body - place.index

  /** The same page, in a segment that has more of its bytes. */
  def in(segment: Segment): OpenedHeader = {
    val moved = place.copy(segment = segment)
    new OpenedHeader(header, moved, moved.index + headerBytes)
  }

  def isDictionary: Boolean =
    header.getType == PageType.DICTIONARY_PAGE && header.isSetDictionary_page_header

  def kind: ModuleKind = if (isDictionary) ModuleKind.DictionaryPage else ModuleKind.DataPage

  def isV1: Boolean = header.getType == PageType.DATA_PAGE && header.isSetData_page_header
  def isV2: Boolean = header.getType == PageType.DATA_PAGE_V2 && header.isSetData_page_header_v2

  /** The number of values in a data page's header. */
  def values: Int =
    if (isV2) header.getData_page_header_v2.getNum_values else header.getData_page_header.getNum_values
}

/**
 * The parts of a V2 data page: its levels, which are not compressed, and its values, which may be.
 *
 * @param levels the array that holds the levels from `levelsAt` on, repetition levels first
 * @param values the array that holds the values from `valuesAt` on, still compressed
 */
private[parquet] final class V2Parts(
    val levels: Array[Byte],
    val levelsAt: Int,
    val values: Array[Byte],
    val valuesAt: Int,
    val valuesLength: Int
)

/**
 * Opens the page headers of one chunk and the two layouts of V2 pages, and checks every length before it is used. What
 * all ways to open pages share: [[ChunkPages]] for readers of values, [[CompressedPageReader]] for copies, verification
 * and layouts, [[HeaderCheck]] for Spark's own reader. Only those that decompress pages ask for [[uncompressed]]. For
 * one thread.
 */
private[parquet] abstract class PageOpener(source: ChunkSource, codec: Codec, verifyChecksums: Boolean) {
  protected final val chunk: Chunk = source.chunk
  protected final val modules: Option[ChunkModules] = source.modules

  /** File and column, for messages. */
  protected final val where: String = source.where

  /** The page at a place; its header must open as this kind. */
  protected final def opened(place: PagePlace, kind: ModuleKind): OpenedHeader = {
    val segment = place.segment
    val from = place.index
    modules match {
      case None => parsed(segment.array, from, segment.until, place, PageOpener.BehindHeader)
      case Some(ciphers) =>
        val headers = ciphers.headers
        val end = headers.end(segment.array, from, segment.until, Limits.PageHeaderBytes, kind)
        val length = headers.open(segment.array, from, end, kind, place.ordinal)
        // parquet-java leaves zero bytes after the header.
        parsed(headers.plaintext, 0, length, place, end)
    }
  }

  private def parsed(bytes: Array[Byte], from: Int, until: Int, place: PagePlace, body: Int): OpenedHeader =
    FileTail.parse(where, "a page header") {
      val end = ThriftBounds.end(bytes, from, until)
      val header = Util.readPageHeader(new ByteArrayInputStream(bytes, from, end - from))
      new OpenedHeader(header, place, if (body == PageOpener.BehindHeader) end else body)
    }

  /** The array index at which a page ends. Compares its checksum if asked to. */
  final def end(page: OpenedHeader): Int = {
    val bytes = page.place.segment
    val end = page.body + bodyLength(page, (bytes.until - page.body).toLong)
    if (verifyChecksums && page.header.isSetCrc) {
      val crc = new CRC32
      crc.update(bytes.array, page.body, end - page.body)
      if (crc.getValue.toInt != page.header.getCrc) throw damaged("the checksum of a page does not match")
    }
    end
  }

  /** @param left the bytes of the column chunk after the header */
  final def bodyLength(page: OpenedHeader, left: Long): Int = {
    val length = page.header.getCompressed_page_size
    if (length < 0 || length > left)
      throw damaged(s"the length of a page is $length bytes, but $left bytes of its column chunk are left")
    length
  }

  /** The length that a page claims to decompress to, checked before anything allocates it. */
  protected final def uncompressed(page: OpenedHeader, end: Int, limit: Int): Int = {
    val size = page.header.getUncompressed_page_size
    val length = end - page.body
    if (size < 0 || size > limit)
      throw damaged(
        s"a page states that it decompresses to $size bytes; with this heap size at most $limit are accepted"
      )
    if (size > length.toLong * codec.mostPerByte + PageOpener.LevelSlackBytes)
      throw damaged(
        s"a page of $length bytes states that it decompresses to $size bytes, which its codec cannot do"
      )
    size
  }

  /** The length of the levels of a V2 page. */
  protected final def levelBytes(page: OpenedHeader): Int = {
    val v2 = page.header.getData_page_header_v2
    val (rl, dl) = (v2.getRepetition_levels_byte_length, v2.getDefinition_levels_byte_length)
    if (rl < 0 || dl < 0 || rl.toLong + dl > page.header.getUncompressed_page_size) throw contradiction(page)
    rl + dl
  }

  /**
   * Opens an encrypted V2 page of either layout. Arrow encrypts levels and values as one module; parquet-java leaves the
   * levels before the module, readable and unauthenticated. The place of a module whose length fits shows which layout a
   * page has.
   */
  protected final def v2Parts(page: OpenedHeader, end: Int, allowClearLevels: Boolean): V2Parts = {
    val bytes = page.place.segment.array
    val body = page.body
    val levels = levelBytes(page)
    def tooShort = damaged(s"its page ${page.place.ordinal} is shorter than its levels")
    modules match {
      case None =>
        if (end - body < levels) throw tooShort
        new V2Parts(bytes, body, bytes, body + levels, end - body - levels)
      case Some(ciphers) if hasLevelsInside(page, end) =>
        val length = ciphers.pages.openPage(bytes, body, end, ModuleKind.DataPage, page.place.ordinal)
        if (length < levels) throw tooShort
        // Copied, since the next page is decrypted into the same array while a reader may still use these levels.
        val plain = java.util.Arrays.copyOf(ciphers.pages.plaintext, length)
        new V2Parts(plain, 0, plain, levels, length - levels)
      case Some(ciphers) =>
        if (levels > 0 && !allowClearLevels) throw PmeErrors.clearLevels(source.file, chunk.display)
        if (end - body < levels) throw tooShort
        val length =
          ciphers.pages.openPage(bytes, body + levels, end, ModuleKind.DataPage, page.place.ordinal)
        new V2Parts(bytes, body, ciphers.pages.plaintext, 0, length)
    }
  }

  /**
   * Whether a module begins where the page does and takes all of it: then the levels are inside, as Arrow writes them.
   */
  protected final def hasLevelsInside(page: OpenedHeader, end: Int): Boolean = {
    val length = end - page.body - ModuleFrame.LengthBytes
    length >= 0 && ModuleFrame.lengthAt(page.place.segment.array, page.body) == length
  }

  /** @param values the sum over all data pages */
  final def requireAll(values: Long): Unit =
    if (values != chunk.meta.getValueCount)
      throw damaged(s"its pages hold $values values, but its metadata states ${chunk.meta.getValueCount}")

  protected final def contradiction(page: OpenedHeader): PmeException =
    damaged(s"the header of its page ${page.place.ordinal} contradicts itself")

  protected final def notADictionary: PmeException =
    damaged("it has another page in place of its dictionary")

  protected final def damaged(why: String): PmeException = PmeErrors.damaged(where, why)
}

private object PageOpener {

  /** The place of a body that nothing but its header comes before. */
  val BehindHeader: Int = -1

  /** For the levels that short pages have besides their values. */
  val LevelSlackBytes = 64
}
