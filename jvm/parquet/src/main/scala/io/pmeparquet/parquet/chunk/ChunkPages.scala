package io.pmeparquet.parquet.chunk

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.column.page.{DataPage, DataPageV1, DataPageV2, DictionaryPage, PageReader}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.bytes.Limits
import io.pmeparquet.PmeErrors

/** How to read the pages of a chunk. */
private[parquet] final case class PageRules(
    allowClearLevels: Boolean,
    verifyChecksums: Boolean,
    vectorized: Boolean
)

/**
 * The pages of one column chunk, decrypted and decompressed one by one as a reader asks for them: `readPage` calls
 * [[Modules]] for the header and for the body, and that calls the cipher. Every length in the file is checked against
 * what is left of the chunk before it is used, and everything that decoders would trust before they get the page. For
 * one thread.
 *
 * With vectorized decoders a data page is valid until the reader asks for the next.
 *
 * @param pages which pages to read, and their places
 * @param wanted rows of the row group; skips pages without any of them, undecrypted if their rows are known
 * @param memory counts the pages of this chunk and of the row group's other columns, together
 * @param dictionaries those of the row group that are decrypted already
 */
private[parquet] final class ChunkPages(
    source: ChunkSource,
    codec: Codec,
    pages: PagePlaces,
    wanted: Option[Rows],
    rules: PageRules,
    memory: PageMemory,
    dictionaries: Dictionaries
) extends PageOpener(source, codec, rules.verifyChecksums)
    with PageReader {
  private val converter = new ParquetMetadataConverter
  private val bounds = new EncodingBounds(chunk.descriptor, where)
  private val isFlat = chunk.descriptor.getMaxRepetitionLevel == 0
  private val values = chunk.meta.getValueCount
  private var valuesSeen = 0L
  private var nextRow = 0L
  private var output = Array.emptyByteArray

  override def getTotalValueCount: Long = values

  override def readDictionaryPage(): DictionaryPage = dictionary

  private lazy val dictionary: DictionaryPage =
    if (chunk.mayHaveDictionary) pages.dictionary.flatMap(dictionaryAt).orNull else null

  @tailrec
  override def readPage(): DataPage = {
    // Only a look for the dictionary shows whether the first page of a chunk is one.
    readDictionaryPage()
    pages.next() match {
      case Some(place) =>
        val page = dataPage(place)
        if (page == null) readPage() else page
      case None =>
        if (pages.areAll) requireAll(valuesSeen)
        null
    }
  }

  /** The dictionary, if the page at a place is one. */
  private def dictionaryAt(place: PagePlace): Option[DictionaryPage] =
    dictionaries.find(chunk.meta.getPath) match {
      case Some(known) =>
        pages.passed(place, place.index + known.length)
        Some(known.page)
      case None =>
        val page = opened(place, ModuleKind.DictionaryPageHeader)
        if (page.isDictionary) Some(readDictionary(page))
        else if (modules.isEmpty) None
        else throw notADictionary
    }

  private def readDictionary(page: OpenedHeader): DictionaryPage = {
    val end = this.end(page)
    val size = uncompressed(page, end, Limits.DictionaryBytes)
    val header = page.header.getDictionary_page_header
    val count = header.getNum_values
    if (count < 0 || count.toLong * leastBytes > size)
      throw damaged(s"its dictionary states $count values in $size bytes")
    memory.exchange(0, size + count.toLong * ChunkPages.memoryOfValue(physicalType), where)
    val out = new Array[Byte](size)
    decompress(page, end, ModuleKind.DictionaryPage, size, out)
    pages.passed(page.place, end)
    val made =
      new DictionaryPage(BytesInput.from(out), size, count, converter.getEncoding(header.getEncoding))
    dictionaries.keep(chunk.meta.getPath, made, end - page.place.index)
    made
  }

  private def physicalType = chunk.descriptor.getPrimitiveType.getPrimitiveTypeName

  /** The fewest bytes of a plain value. */
  private def leastBytes: Int = physicalType match {
    case PrimitiveTypeName.INT64 | PrimitiveTypeName.DOUBLE => 8
    case PrimitiveTypeName.INT96 => 12
    case PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY => chunk.descriptor.getPrimitiveType.getTypeLength.max(1)
    case PrimitiveTypeName.BOOLEAN => 1
    case _ => 4
  }

  /** The page, or null if none of its rows is wanted. */
  private def dataPage(place: PagePlace): DataPage = {
    val page = opened(place, ModuleKind.DataPageHeader)
    val end = this.end(page)
    pages.passed(place, end)
    if (page.isV1) {
      count(page.values)
      // Without repetition each value, null or not, is a row.
      val rows = rowsOf(place, if (isFlat) page.values else ChunkPages.Unknown)
      if (isWanted(rows)) v1(page, end, rows) else null
    } else if (page.isV2) {
      count(page.values)
      val stated = page.header.getData_page_header_v2.getNum_rows
      if (stated < 0) throw contradiction(page)
      val rows = rowsOf(place, stated)
      if (isWanted(rows)) v2(page, end, rows) else null
    } else throw damaged(s"its page ${place.ordinal} is a ${page.header.getType}")
  }

  private def count(more: Int): Unit = {
    if (more < 0 || valuesSeen + more > values)
      throw damaged(s"its pages hold more values than the $values of its metadata")
    valuesSeen += more
  }

  private def rowsOf(place: PagePlace, counted: Int): Option[PageRows] = place.rows match {
    case indexed @ Some(rows) =>
      if (counted != ChunkPages.Unknown && counted != rows.count)
        throw damaged(
          s"its page ${place.ordinal} has $counted rows, but its offset index states ${rows.count}"
        )
      indexed
    case None if counted == ChunkPages.Unknown => None
    case None =>
      val rows = PageRows(nextRow, counted)
      nextRow += counted
      Some(rows)
  }

  private def isWanted(rows: Option[PageRows]): Boolean =
    wanted.forall(some => rows.forall(_.holdAny(some)))

  private def v1(page: OpenedHeader, end: Int, rows: Option[PageRows]): DataPage = {
    val header = page.header.getData_page_header
    val size = uncompressed(page, end, Limits.PageBytes)
    val out = room(size)
    decompress(page, end, ModuleKind.DataPage, size, out)
    val bytes = BytesInput.from(out, 0, size)
    val repetition = converter.getEncoding(header.getRepetition_level_encoding)
    val definition = converter.getEncoding(header.getDefinition_level_encoding)
    val encoding = converter.getEncoding(header.getEncoding)
    val count = header.getNum_values
    bounds.checkV1(out, size, count, repetition, definition, encoding)
    rows match {
      case None => new DataPageV1(bytes, count, size, null, repetition, definition, encoding)
      case Some(PageRows(first, held)) =>
        new DataPageV1(bytes, count, size, first, held, null, repetition, definition, encoding)
    }
  }

  private def v2(page: OpenedHeader, end: Int, rows: Option[PageRows]): DataPage = {
    val header = page.header.getData_page_header_v2
    val size = uncompressed(page, end, Limits.PageBytes)
    if (header.getNum_nulls < 0) throw contradiction(page)
    val parts = v2Parts(page, end, rules.allowClearLevels)
    val (rl, dl) = (header.getRepetition_levels_byte_length, header.getDefinition_levels_byte_length)
    val data = size - rl - dl
    val out = room(data)
    val isCompressed = !header.isSetIs_compressed || header.isIs_compressed
    // If all values are null, some writers store the empty frame of their codec.
    if (data > 0)
      Codecs.run(
        where,
        if (isCompressed) codec else Codecs.None,
        parts.values,
        parts.valuesAt,
        parts.valuesLength,
        out,
        0,
        data
      )
    val (count, encoding) = (header.getNum_values, converter.getEncoding(header.getEncoding))
    bounds.checkV2(parts.levels, parts.levelsAt, rl, dl, out, data, count, encoding)
    DataPageV2.uncompressed(
      header.getNum_rows,
      header.getNum_nulls,
      count,
      rows.fold(0L)(_.first),
      BytesInput.from(parts.levels, parts.levelsAt, rl),
      BytesInput.from(parts.levels, parts.levelsAt + rl, dl),
      encoding,
      BytesInput.from(out, 0, data),
      null
    )
  }

  /** Puts the body of a page, except of a V2 page, into `out`, which has room for `size` bytes. */
  private def decompress(
      page: OpenedHeader,
      end: Int,
      kind: ModuleKind,
      size: Int,
      out: Array[Byte]
  ): Unit = {
    val array = page.place.segment.array
    val length = end - page.body
    modules match {
      case None => Codecs.run(where, codec, array, page.body, length, out, 0, size)
      case Some(ciphers) if codec.isNone =>
        val plain = length - ciphers.pages.overheadBytes
        ciphers.pages.requirePage(array, page.body, end, kind)
        if (plain != size) throw damaged(s"a page has $plain bytes, but its header states $size")
        ciphers.pages.open(array, page.body, end, kind, page.place.ordinal, out, 0)
        ()
      case Some(ciphers) =>
        val plain = ciphers.pages.openPage(array, page.body, end, kind, page.place.ordinal)
        Codecs.run(where, codec, ciphers.pages.plaintext, 0, plain, out, 0, size)
    }
  }

  private def room(size: Int): Array[Byte] = {
    // The row-based reader may keep a page after it asks for the next.
    if (!rules.vectorized || output.length < size) {
      val length = if (rules.vectorized) Modules.roomFor(size) else size
      memory.exchange(output.length.toLong, length.toLong, where)
      output = Array.emptyByteArray
      output = new Array[Byte](length)
    }
    output
  }
}

private object ChunkPages {

  /** In place of the number of rows in a page, where only its levels show it. */
  val Unknown: Int = -1

  /** The memory of a decoded dictionary value: a number, or an object that refers to bytes. */
  def memoryOfValue(of: PrimitiveTypeName): Int = of match {
    case PrimitiveTypeName.BINARY | PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY | PrimitiveTypeName.INT96 => 40
    case _ => 8
  }
}

/** Counts the memory of the open pages of one row group's columns together. For one thread. */
private[parquet] final class PageMemory {
  private var taken = 0L

  /** @throws io.pmeparquet.PmeException if a page is larger than what the others leave */
  def exchange(before: Long, after: Long, where: String): Unit = {
    taken += after - before
    if (taken > Limits.OpenPagesBytes)
      throw PmeErrors.damaged(
        where,
        s"a page states a decompressed size with which the open pages of the row group take $taken bytes; with this heap size at most ${Limits.OpenPagesBytes} are accepted"
      )
  }
}

/**
 * The dictionaries of one row group. It decrypts each once, though filters, the columns of a condition and the scan
 * each ask for it. For one thread.
 */
private[parquet] final class Dictionaries {
  private val known = mutable.Map.empty[ColumnPath, Dictionaries.Known]

  def find(column: ColumnPath): Option[Dictionaries.Known] = known.get(column)

  def keep(column: ColumnPath, page: DictionaryPage, length: Int): Unit =
    known(column) = Dictionaries.Known(page, length)
}

private[parquet] object Dictionaries {

  /** @param length the length of the page in the file, with its header */
  final case class Known(page: DictionaryPage, length: Int)
}
