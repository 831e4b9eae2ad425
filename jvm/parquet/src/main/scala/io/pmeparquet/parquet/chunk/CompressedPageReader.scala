package io.pmeparquet.parquet.chunk

import java.util.Arrays

import org.apache.hadoop.fs.ChecksumException
import org.apache.parquet.format.{PageHeader, PageType}

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{FileBytes, Limits, Range, Segment}

/**
 * Decrypts the pages of one column chunk but neither decompresses nor decodes them, for copies, verification and
 * layouts; [[ChunkPages]] serves readers of values. For one thread.
 */
private[parquet] final class CompressedPageReader(source: ChunkSource, allowClearLevels: Boolean)
    extends PageOpener(
      source,
      Codecs.None,
      verifyChecksums = !CompressedPageReader.isTagged(source, allowClearLevels)
    ) {
  import CompressedPageReader._

  /** The page at a place where a dictionary may be. In a chunk without a key it may be a data page instead. */
  def dictionaryAt(place: PagePlace): OpenedHeader = {
    val page = opened(place, ModuleKind.DictionaryPageHeader)
    if (!page.isDictionary && modules.isDefined) throw notADictionary
    page
  }

  def dataPageAt(place: PagePlace): OpenedHeader = {
    val page = opened(place, ModuleKind.DataPageHeader)
    if (!page.isV1 && !page.isV2) throw damaged(s"its page ${place.ordinal} is a ${page.header.getType}")
    page
  }

  /**
   * The page at an offset. Reads no more bytes than its header takes.
   *
   * @param number the data page's number; none for the dictionary
   * @return the header, and the length of the page's body
   */
  def headerAt(window: Window, offset: Long, number: Option[Int]): (OpenedHeader, Int) = {
    def within(length: Long) = {
      val place = PagePlace(window.from(offset, length), offset, number.getOrElse(0), None)
      val page = if (number.isEmpty) dictionaryAt(place) else dataPageAt(place)
      page -> bodyLength(page, window.end - offset - page.headerBytes)
    }
    if (modules.isDefined) {
      val frame = window.frameEnd(offset).fold(ModuleFrame.GcmOverheadBytes.toLong)(_ - offset)
      within(frame.min(MostOfHeader))
    } else
      try within(UsualBytes)
      catch { case _: PmeException => within(MostOfHeader) }
  }

  /** The decrypted content of a page, still compressed: for a V2 page its levels, then its values. */
  def content(page: OpenedHeader, end: Int): Array[Byte] =
    if (page.isV2) {
      val parts = v2Parts(page, end, allowClearLevels)
      val levels = levelBytes(page)
      val content =
        Arrays.copyOfRange(parts.levels, parts.levelsAt, parts.levelsAt + levels + parts.valuesLength)
      System.arraycopy(parts.values, parts.valuesAt, content, levels, parts.valuesLength)
      content
    } else
      modules match {
        case None => Arrays.copyOfRange(page.place.segment.array, page.body, end)
        case Some(ciphers) =>
          val bytes = page.place.segment.array
          ciphers.pages.requirePage(bytes, page.body, end, page.kind)
          val plain = new Array[Byte](end - page.body - ciphers.pages.overheadBytes)
          ciphers.pages.open(bytes, page.body, end, page.kind, page.place.ordinal, plain, 0)
          plain
      }

  /** Decrypts the module of a page to authenticate it, and keeps none of its content. */
  def open(page: OpenedHeader, end: Int): Unit =
    if (page.isV2) {
      v2Parts(page, end, allowClearLevels)
      ()
    } else open(page.place, page.body, end, page.kind)

  /** As the other [[open]], for a page whose header may not be known. */
  def open(place: PagePlace, body: Int, end: Int, kind: ModuleKind): Unit =
    modules.foreach(_.pages.openPage(place.segment.array, body, end, kind, place.ordinal))
}

private object CompressedPageReader {
  val MostOfHeader: Long = Limits.PageHeaderBytes.toLong + ModuleFrame.GcmOverheadBytes

  /** Nothing states the length of a plaintext header; a longer one holds long values. */
  val UsualBytes: Long = 8 * 1024

  /**
   * Whether a tag covers all bytes of every page. A page's checksum is that of its encrypted bytes, and where no tag
   * covers all of them, only the checksum shows damage. A copy also computes a new checksum, which must not make a
   * damaged page look sound.
   */
  def isTagged(source: ChunkSource, allowClearLevels: Boolean): Boolean =
    source.modules.exists(_.pages.overheadBytes == ModuleFrame.GcmOverheadBytes) && !allowClearLevels
}

/**
 * The part of a column chunk that is in memory. It moves on through the chunk as pages are opened one by one, so a
 * chunk of any length takes no more memory than its largest page. For one thread.
 *
 * @param step how much to read at once, unless a caller asks for more
 */
private[parquet] final class Window(bytes: FileBytes, step: Int) {
  private var buffer = Array.emptyByteArray
  private var segment = Window.Empty
  private var until = 0L

  /** Where the chunk ends. */
  def end: Long = until

  /** Moves to another chunk, which ends at `end`. */
  def limitTo(end: Long): Unit = {
    segment = Window.Empty
    until = end
  }

  /** Bytes from an offset on, or from before it: at least `length` of what is left of the chunk. */
  def from(offset: Long, length: Long): Segment = {
    val left = until - offset
    val wanted = Range(offset, length.min(left).toInt)
    if (!segment.holds(wanted))
      try read(offset, wanted.length.max(left.min(step.toLong).toInt))
      catch {
        // The damage may be in the part that was read ahead.
        case _: ChecksumException => read(offset, wanted.length)
      }
    segment
  }

  /** The end of a module according to the length before it, if that is possible. */
  def frameEnd(offset: Long): Option[Long] =
    if (until - offset < ModuleFrame.LengthBytes) None
    else {
      val found = from(offset, ModuleFrame.LengthBytes.toLong)
      val length = ModuleFrame.lengthAt(found.array, found.indexOf(offset))
      Some(length).filter(_ >= 0).map(offset + ModuleFrame.LengthBytes + _).filter(_ <= until)
    }

  private def read(offset: Long, length: Int): Unit = {
    val last = segment
    segment = Window.Empty
    val kept = if (offset >= last.offset && offset < last.end) (last.end - offset).toInt else 0
    val target = if (buffer.length >= length) buffer else new Array[Byte](Modules.roomFor(length))
    System.arraycopy(last.array, if (kept > 0) last.indexOf(offset) else 0, target, 0, kept)
    bytes.readInto(Range(offset + kept, length - kept), target, kept)
    buffer = target
    segment = new Segment(target, 0, offset, length)
  }
}

private object Window {
  private val Empty = new Segment(Array.emptyByteArray, 0, -1, 0)
}

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
private[parquet] final class StoredPages(source: ChunkSource, segment: Segment, allowClearLevels: Boolean)
    extends Iterator[StoredPage] {
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
    else places.dictionary.map(reader.dictionaryAt).filter(_.isDictionary).map(stored)

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

/**
 * Checks the lengths in the page headers of one column chunk, for readers that allocate what lengths claim. Opens no
 * page that such a reader can read itself. For one thread.
 *
 * @param pages all pages of the chunk
 */
private[parquet] final class HeaderCheck(
    source: ChunkSource,
    codec: Codec,
    pages: PagePlaces,
    allowClearLevels: Boolean
) extends PageOpener(source, codec, verifyChecksums = false) {

  /** @throws io.pmeparquet.PmeException if a length does not fit into its place */
  def run(): Unit = {
    if (chunk.mayHaveDictionary)
      pages.dictionary.foreach { place =>
        val page = opened(place, ModuleKind.DictionaryPageHeader)
        if (page.header.getType == PageType.DICTIONARY_PAGE)
          check(page, ModuleKind.DictionaryPage, Limits.DictionaryBytes)
      }
    Iterator.continually(pages.next()).takeWhile(_.isDefined).flatten.foreach { place =>
      check(opened(place, ModuleKind.DataPageHeader), ModuleKind.DataPage, Limits.PageBytes)
    }
  }

  private def check(page: OpenedHeader, kind: ModuleKind, limit: Int): Unit = {
    val end = this.end(page)
    uncompressed(page, end, limit)
    modules.foreach { ciphers =>
      // Levels may precede a V2 page's module; no reader uses its length there.
      if (page.isV2) checkLevels(page, end, ciphers.pages)
      else ciphers.pages.requirePage(page.place.segment.array, page.body, end, kind)
    }
    pages.passed(page.place, end)
  }

  /** parquet-java reads the levels of a V2 page before its module, where Arrow has none. */
  private def checkLevels(page: OpenedHeader, end: Int, cipher: Modules): Unit = {
    val header = page.header.getData_page_header_v2
    if (header.getRepetition_levels_byte_length != 0 || header.getDefinition_levels_byte_length != 0) {
      if (hasLevelsInside(page, end)) {
        // Only a page that opens has the layout that Arrow writes.
        cipher.open(page.place.segment.array, page.body, end, ModuleKind.DataPage, page.place.ordinal)
        throw PmeErrors.levelsInside(source.file, chunk.display)
      }
      // The chunk's own metadata need not state that it has V2 pages.
      if (!allowClearLevels) throw PmeErrors.clearLevels(source.file, chunk.display)
    }
  }
}
