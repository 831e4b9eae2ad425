package io.pmeparquet.parquet.pages

import scala.annotation.tailrec

import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.column.page.{DataPage, DataPageV1, DataPageV2, DictionaryPage, PageReader}
import org.apache.parquet.format.{PageHeader, PageType}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.PmeErrors

/** How pages are taken from a chunk. */
private[parquet] final case class PageRules(
    allowClearLevels: Boolean,
    verifyChecksums: Boolean,
    vectorized: Boolean
)

/**
 * The pages of one column chunk, decrypted and decompressed one by one as a reader asks for them. Every length that
 * stands in the file is checked against what is left of the chunk before it is used. For one thread.
 *
 * With vectorized decoders a data page is valid until the next is asked for.
 *
 * @param pages which pages to take, and where they lie
 * @param memory what this chunk's pages take together with those of the columns beside it
 * @param dictionaries those of the row group that were opened before
 * @param wanted rows of the row group; pages without any of them are passed over, undecrypted, where it can be told
 */
private[parquet] final class ChunkPages(
    chunk: Chunk,
    modules: Option[ChunkModules],
    codec: Codec,
    pages: PagePlaces,
    wanted: Option[Rows],
    rules: PageRules,
    memory: PageMemory,
    dictionaries: Dictionaries,
    file: String
) extends PageReader {
  private val where = s"$file, column '${chunk.display}'"
  private val converter = new ParquetMetadataConverter
  private val headers = new PageHeaders(modules, codec, rules.verifyChecksums, where)
  private val bounds = new EncodingBounds(chunk.descriptor, where)
  private val values = chunk.meta.getValueCount
  private var valuesSeen = 0L
  private var output = Array.emptyByteArray
  private var dictionary: Option[DictionaryPage] = None
  private var dictionaryRead = false

  private var nextRow = 0L

  override def getTotalValueCount: Long = values

  override def readDictionaryPage(): DictionaryPage = {
    if (!dictionaryRead) {
      dictionary = if (chunk.mayHaveDictionary) pages.dictionary.flatMap(dictionaryAt) else None
      dictionaryRead = true
    }
    dictionary.orNull
  }

  @tailrec
  override def readPage(): DataPage = {
    // What comes first in a chunk is known to be its dictionary only when that was looked for.
    readDictionaryPage()
    pages.next() match {
      case Some(place) =>
        val page = dataPage(place)
        if (page == null) readPage() else page
      case None =>
        if (pages.areAll && valuesSeen != values)
          throw PmeErrors.damaged(where, s"its pages hold $valuesSeen values where its metadata says $values")
        null
    }
  }

  /**
   * Goes from page to page by their headers, and opens no page that such a reader could read: for readers that allocate what
   * lengths say.
   *
   * @throws io.pmeparquet.PmeException where a length does not fit into what it is in
   */
  def checkHeaders(): Unit = {
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
        // Before a V2 page's module there may be levels; no reader goes by its length there.
        if (header.getType == PageType.DATA_PAGE_V2) checkLevels(header, ciphers.pages, place, body, end)
        else ChunkPages.moduleEnd(ciphers.pages, place.segment.array, body, end, kind, where)
      }
      pages.passed(place, end)
    }
  }

  /** parquet-java takes the levels of a V2 page from before its module, where Arrow has none. */
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
        // Only a page that opens is one as Arrow writes it.
        cipher.open(place.segment.array, body, end, ModuleKind.DataPage, place.ordinal)
        throw PmeErrors.levelsInside(file, chunk.display)
      }
      // The chunk's own metadata need not tell that it has V2 pages.
      if (!rules.allowClearLevels) throw PmeErrors.clearLevels(file, chunk.display)
    }
  }

  private def dictionaryAt(place: PagePlace): Option[DictionaryPage] =
    dictionaries.find(chunk.meta.getPath) match {
      case Some(opened) =>
        pages.passed(place, place.index + opened.length)
        Some(opened.page)
      case None => readDictionary(place)
    }

  private def readDictionary(place: PagePlace): Option[DictionaryPage] = {
    val (header, body) = headers.at(place, ModuleKind.DictionaryPageHeader)
    if (header.getType == PageType.DICTIONARY_PAGE && header.isSetDictionary_page_header) {
      val end = headers.bodyEnd(header, body, place)
      val size = headers.uncompressed(header, end - body, Limits.DictionaryBytes)
      val dictionary = header.getDictionary_page_header
      val values = dictionary.getNum_values
      if (values < 0 || values.toLong * leastBytes > size)
        throw PmeErrors.damaged(where, s"its dictionary says $values values in $size bytes")
      memory.exchange(0, size + values.toLong * valueBytes, where)
      val out = new Array[Byte](size)
      content(place, body, end, ModuleKind.DictionaryPage, size, out)
      pages.passed(place, end)
      val encoding = converter.getEncoding(dictionary.getEncoding)
      val page = new DictionaryPage(BytesInput.from(out), size, dictionary.getNum_values, encoding)
      dictionaries.keep(chunk.meta.getPath, page, end - place.index)
      Some(page)
    } else if (modules.isEmpty) None
    else throw PmeErrors.damaged(where, "it has another page where its dictionary should be")
  }

  /** What a plain value takes at least. */
  private def leastBytes: Int = chunk.descriptor.getPrimitiveType.getPrimitiveTypeName match {
    case PrimitiveTypeName.INT64 | PrimitiveTypeName.DOUBLE => 8
    case PrimitiveTypeName.INT96 => 12
    case PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY => chunk.descriptor.getPrimitiveType.getTypeLength.max(1)
    case PrimitiveTypeName.BOOLEAN => 1
    case _ => 4
  }

  private def valueBytes = chunk.descriptor.getPrimitiveType.getPrimitiveTypeName match {
    case PrimitiveTypeName.BINARY | PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY | PrimitiveTypeName.INT96 =>
      ChunkPages.ObjectBytes
    case _ => ChunkPages.NumberBytes
  }

  /** The page, or null where none of its rows is wanted. */
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
        if (isWanted(rows)) v1(header, place, body, end, rows) else null
      case PageType.DATA_PAGE_V2 if header.isSetData_page_header_v2 =>
        val page = header.getData_page_header_v2
        count(page.getNum_values)
        if (page.getNum_rows < 0) throw contradiction(place)
        val rows = rowsOf(place, Some(page.getNum_rows))
        if (isWanted(rows)) v2(header, place, body, end, rows) else null
      case other => throw PmeErrors.damaged(where, s"its page ${place.ordinal} is a $other")
    }
  }

  private def flat = chunk.descriptor.getMaxRepetitionLevel == 0

  private def rowsOf(place: PagePlace, counted: Option[Int]): Option[PageRows] = place.rows
    .map { rows =>
      if (counted.exists(_ != rows.count))
        throw PmeErrors.damaged(
          where,
          s"its page ${place.ordinal} has ${counted.get} rows where its offset index says ${rows.count}"
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

  private def v1(
      header: PageHeader,
      place: PagePlace,
      body: Int,
      end: Int,
      rows: Option[PageRows]
  ): DataPage = {
    val page = header.getData_page_header
    val size = headers.uncompressed(header, end - body, Limits.PageBytes)
    val out = room(size)
    content(place, body, end, ModuleKind.DataPage, size, out)
    val bytes = BytesInput.from(out, 0, size)
    val repetition = converter.getEncoding(page.getRepetition_level_encoding)
    val definition = converter.getEncoding(page.getDefinition_level_encoding)
    val encoding = converter.getEncoding(page.getEncoding)
    bounds.checkV1(out, size, page.getNum_values, repetition, definition, encoding)
    rows match {
      case None => new DataPageV1(bytes, page.getNum_values, size, null, repetition, definition, encoding)
      case Some(PageRows(first, count)) =>
        new DataPageV1(bytes, page.getNum_values, size, first, count, null, repetition, definition, encoding)
    }
  }

  private def v2(
      header: PageHeader,
      place: PagePlace,
      body: Int,
      end: Int,
      rows: Option[PageRows]
  ): DataPage = {
    val page = header.getData_page_header_v2
    val (rl, dl) = (page.getRepetition_levels_byte_length, page.getDefinition_levels_byte_length)
    val size = headers.uncompressed(header, end - body, Limits.PageBytes)
    if (rl < 0 || dl < 0 || rl.toLong + dl > size || page.getNum_nulls < 0) throw contradiction(place)
    val parts =
      V2Parts.of(place, body, end, rl + dl, modules.map(_.pages), rules.allowClearLevels, file, chunk.display)
    val data = size - rl - dl
    val out = room(data)
    val compressed = !page.isSetIs_compressed || page.isIs_compressed
    // Where all values are null, some writers store the empty frame of their codec.
    if (data > 0) {
      val valuesCodec = if (compressed) codec else Codecs.None
      Codecs.run(where, valuesCodec, parts.values, parts.valuesAt, parts.valuesLength, out, 0, data)
    }
    val repetition = BytesInput.from(parts.levels, parts.levelsAt, rl)
    val definition = BytesInput.from(parts.levels, parts.levelsAt + rl, dl)
    val encoding = converter.getEncoding(page.getEncoding)
    bounds.checkV2(parts.levels, parts.levelsAt, rl, dl, out, data, page.getNum_values, encoding)
    val bytes = BytesInput.from(out, 0, data)
    val (count, nulls, first) = (page.getNum_rows, page.getNum_nulls, rows.fold(0L)(_.first))
    DataPageV2.uncompressed(
      count,
      nulls,
      page.getNum_values,
      first,
      repetition,
      definition,
      encoding,
      bytes,
      null
    )
  }

  private def contradiction(place: PagePlace) =
    PmeErrors.damaged(where, s"the header of its page ${place.ordinal} contradicts itself")

  /** Decrypts and decompresses a page's body into `out`, which has room for `size` bytes. */
  private def content(
      place: PagePlace,
      body: Int,
      end: Int,
      kind: ModuleKind,
      size: Int,
      out: Array[Byte]
  ): Unit = {
    val array = place.segment.array
    modules match {
      case None => Codecs.run(where, codec, array, body, end - body, out, 0, size)
      case Some(ciphers) =>
        val module = ChunkPages.moduleEnd(ciphers.pages, array, body, end, kind, where)
        if (codec.isNone) {
          if (end - body - ciphers.pages.overheadBytes != size)
            throw PmeErrors.damaged(
              where,
              s"a page has ${end - body - ciphers.pages.overheadBytes} bytes where its header says $size"
            )
          ciphers.pages.open(array, body, module, kind, place.ordinal, out, 0)
        } else {
          val length = ciphers.pages.open(array, body, module, kind, place.ordinal)
          Codecs.run(where, codec, ciphers.pages.plaintext, 0, length, out, 0, size)
        }
    }
    ()
  }

  private def count(more: Int): Unit = {
    if (more < 0 || valuesSeen + more > values)
      throw PmeErrors.damaged(where, s"its pages hold more values than the $values that its metadata says")
    valuesSeen += more
  }

  private def room(size: Int): Array[Byte] = {
    // The row-based reader may keep a page beyond the next.
    if (!rules.vectorized || output.length < size) {
      val length = if (rules.vectorized) Modules.roomFor(size) else size
      memory.exchange(output.length.toLong, length.toLong, where)
      output = Array.emptyByteArray
      output = new Array[Byte](length)
    }
    output
  }
}

private[parquet] object ChunkPages {

  /** What a decoded value of a dictionary takes: a number, or an object that refers to bytes. */
  private val NumberBytes = 8
  private val ObjectBytes = 40

  /** A page's length field is not authenticated; it must say what the page header, which is, says (specification §5.1). */
  def moduleEnd(
      cipher: Modules,
      bytes: Array[Byte],
      body: Int,
      end: Int,
      kind: ModuleKind,
      where: String
  ): Int = {
    val module = cipher.end(bytes, body, end, Limits.PageBytes, kind)
    if (module != end)
      throw PmeErrors.damaged(
        where,
        s"a ${kind.name} says ${module - body - ModuleFrame.LengthBytes} bytes where its header leaves ${end - body - ModuleFrame.LengthBytes}"
      )
    module
  }
}
