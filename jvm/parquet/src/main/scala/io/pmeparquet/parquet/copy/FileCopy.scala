package io.pmeparquet.parquet.copy

import java.io.ByteArrayInputStream
import java.util.zip.CRC32

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.parquet.crypto.ModuleCipherFactory.ModuleType
import org.apache.parquet.format._

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.columns.KeyValues
import io.pmeparquet.parquet.bytes.{FileBytes, FileTail, ThriftBounds}
import io.pmeparquet.parquet.chunk.{Chunk, StoredPage, StoredPages}
import io.pmeparquet.parquet.file.{Indexes, OpenFile}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeErrors

/** Copies one file, in the order in which parquet-java lays files out: pages, indexes, Bloom filters, footer. */
private[parquet] final class FileCopy(
    file: OpenFile,
    carried: CarriedFields,
    bytes: FileBytes,
    out: ModuleFile,
    scope: ReadScope,
    goOn: () => Unit
) {
  private val indexes = new Indexes(file, bytes, scope.counters)
  private var pageCount = 0L

  /** @return the number of its pages */
  def write(): Long = {
    val groups =
      (0 until file.rowGroupCount).map(index => new CopiedGroup(index, out.position, copyPages(index)))
    groups.foreach(group => copyColumnIndexes(group.columns))
    groups.foreach(group => copyOffsetIndexes(group.columns))
    groups.foreach(_.columns.foreach(copyBloomFilter))
    val footer = new FileMetaData(file.footer)
    footer.setRow_groups(groups.map(described).asJava)
    // A copy is not cut for its keys: its footer may have a weaker one than the column that the values are of.
    Option(footer.getKey_value_metadata).foreach { entries =>
      footer.setKey_value_metadata(entries.asScala.filterNot(_.getKey == KeyValues.Entry).asJava)
    }
    out.writeFooter(footer, carried)
    pageCount
  }

  private def copyPages(group: Int): Seq[CopiedChunk] =
    file.chunks(group, scope.counters).map { chunk =>
      goOn()
      val copy = new CopiedChunk(chunk, out.column(chunk.descriptor.getPath.toSeq, group, chunk.ordinal))
      copyPages(copy)
      copy
    }

  private def described(group: CopiedGroup): RowGroup = {
    val made = new RowGroup(file.footer.getRow_groups.get(group.index))
    made.setTotal_byte_size(group.columns.map(_.metadata.getTotal_uncompressed_size).sum)
    made.setTotal_compressed_size(group.columns.map(_.metadata.getTotal_compressed_size).sum)
    made.setFile_offset(group.start)
    made.setOrdinal(group.index.toShort)
    group.columns.foreach(copy => copy.seal.metadata(copy.struct))
    made.setColumns(group.columns.map(_.struct).asJava)
    made
  }

  /** Copies the pages of a chunk, and updates the chunk's metadata with their new places. */
  private def copyPages(copy: CopiedChunk): Unit = {
    val start = out.position
    var dictionaryAt: Option[Long] = None
    var dataAt: Option[Long] = None
    var longerHeaders = 0L
    val encodings = mutable.LinkedHashMap.empty[(PageType, Encoding), Int]
    // Some writers give a chunk without values no offset in the file.
    if (copy.chunk.meta.getValueCount > 0)
      pagesOf(copy.chunk).foreach { page =>
        val at = out.position
        longerHeaders += writePage(copy, page) - page.headerBytes
        val kind = page.header.getType -> encodingOf(page.header)
        encodings(kind) = encodings.getOrElse(kind, 0) + 1
        if (page.isDictionary) dictionaryAt = Some(at)
        else {
          dataAt = dataAt.orElse(Some(at))
          copy.pages += page.offset -> (at -> (out.position - at).toInt)
        }
        pageCount += 1
      }
    val metadata = copy.metadata
    metadata.setTotal_compressed_size(out.position - start)
    metadata.setTotal_uncompressed_size(
      if (dataAt.isEmpty) 0 else metadata.getTotal_uncompressed_size + longerHeaders
    )
    metadata.setData_page_offset(dataAt.getOrElse(start))
    metadata.unsetIndex_page_offset()
    dictionaryAt match {
      case Some(at) => metadata.setDictionary_page_offset(at)
      case None => metadata.unsetDictionary_page_offset()
    }
    if (dataAt.isDefined && !statesDictionary(metadata).contains(dictionaryAt.isDefined))
      metadata.setEncoding_stats(encodings.toSeq.map { case ((kind, encoding), pages) =>
        new PageEncodingStats(kind, encoding, pages)
      }.asJava)
    // Deprecated; writers that follow the specification store 0.
    if (copy.struct.getFile_offset > 0) copy.struct.setFile_offset(metadata.getData_page_offset)
    ()
  }

  private def encodingOf(header: PageHeader) =
    if (header.isSetDictionary_page_header) header.getDictionary_page_header.getEncoding
    else if (header.isSetData_page_header_v2) header.getData_page_header_v2.getEncoding
    else header.getData_page_header.getEncoding

  /**
   * Whether the metadata states a dictionary; none if it has no encoding stats. Then readers guess from the encodings in
   * use, and Impala lists that of dictionaries for chunks without one. It matters once they are encrypted: the header of
   * a data page does not open as that of a dictionary.
   */
  private def statesDictionary(metadata: ColumnMetaData): Option[Boolean] =
    Option(metadata.getEncoding_stats).map(_.asScala.exists(_.getPage_type == PageType.DICTIONARY_PAGE))

  private def pagesOf(chunk: Chunk) = new StoredPages(
    file.source(chunk, scope.counters),
    bytes.read(file.rangeOf(chunk)),
    scope.settings.allowClearLevels
  )

  /**
   * Writes one page. Levels of V2 pages become part of the module, as Arrow writes them.
   *
   * @return the length of the header
   */
  private def writePage(copy: CopiedChunk, page: StoredPage): Int = {
    val (bodyKind, headerKind) =
      if (page.isDictionary) (ModuleType.DictionaryPage, ModuleType.DictionaryPageHeader)
      else (ModuleType.DataPage, ModuleType.DataPageHeader)
    // The page's number among the data pages.
    val ordinal = copy.pages.size
    val body = copy.seal.module(bodyKind, page.content, ordinal)
    page.header.setCompressed_page_size(body.length)
    if (page.header.isSetCrc) {
      val crc = new CRC32
      crc.update(body, 0, body.length)
      page.header.setCrc(crc.getValue.toInt)
    }
    val plain = out.thrift(Util.writePageHeader(page.header, _))
    val header = copy.seal.module(headerKind, plain, ordinal)
    out.write(header)
    out.write(body)
    header.length
  }

  private def copyColumnIndexes(columns: Seq[CopiedChunk]): Unit =
    contents(columns, ModuleKind.ColumnIndex).foreach { case (copy, content) =>
      val (offset, length) = put(copy, ModuleType.ColumnIndex, content)
      copy.struct.setColumn_index_offset(offset)
      copy.struct.setColumn_index_length(length)
    }

  private def copyOffsetIndexes(columns: Seq[CopiedChunk]): Unit =
    contents(columns, ModuleKind.OffsetIndex).foreach { case (copy, content) =>
      val (offset, length) = put(copy, ModuleType.OffsetIndex, moved(copy, content))
      copy.struct.setOffset_index_offset(offset)
      copy.struct.setOffset_index_length(length)
    }

  private def contents(columns: Seq[CopiedChunk], kind: ModuleKind): Seq[(CopiedChunk, Array[Byte])] = {
    val copies = columns.map(copy => copy.chunk -> copy).toMap
    indexes.contents(columns.map(_.chunk), kind).map { case (chunk, content) => copies(chunk) -> content }
  }

  /** An offset index with the new places of its pages. */
  private def moved(copy: CopiedChunk, content: Array[Byte]): Array[Byte] = {
    val where = file.where(copy.chunk)
    val index = FileTail.parse(where, "its offset index") {
      Util.readOffsetIndex(new ByteArrayInputStream(content, 0, ThriftBounds.end(content, 0, content.length)))
    }
    index.getPage_locations.asScala.foreach { location =>
      val (offset, size) = copy.pages.getOrElse(
        location.getOffset,
        throw PmeErrors.damaged(
          where,
          s"its offset index names a page at ${location.getOffset}, but there is none"
        )
      )
      location.setOffset(offset)
      location.setCompressed_page_size(size)
    }
    out.thrift(Util.writeOffsetIndex(index, _))
  }

  private def copyBloomFilter(copy: CopiedChunk): Unit =
    if (indexes.hasFilter(copy.chunk)) {
      val (header, bits) = indexes.filterContent(copy.chunk)
      val (offset, headerLength) = put(copy, ModuleType.BloomFilterHeader, header)
      val (_, bitsLength) = put(copy, ModuleType.BloomFilterBitset, bits)
      copy.metadata.setBloom_filter_offset(offset)
      // The oldest parquet-java that this compiles against does not have the length, and drops it.
      Option(ColumnMetaData._Fields.findByThriftId(FileCopy.BloomFilterLength)).foreach { length =>
        copy.metadata.setFieldValue(length, Int.box(headerLength + bitsLength))
      }
    }

  private def put(copy: CopiedChunk, kind: ModuleType, content: Array[Byte]): (Long, Int) = {
    val at = out.position
    out.write(copy.seal.module(kind, content))
    at -> (out.position - at).toInt
  }
}

private object FileCopy {

  /** `ColumnMetaData.bloom_filter_length` in parquet.thrift. */
  val BloomFilterLength = 15
}

/** A column chunk that is being copied, and the seal of its modules in the new file. */
private[copy] final class CopiedChunk(val chunk: Chunk, val seal: ModuleFile#ColumnSeal) {
  val struct: ColumnChunk = new ColumnChunk(chunk.struct)
  def metadata: ColumnMetaData = struct.getMeta_data

  /** The new offset and length, header included, of each data page, by its old offset. */
  val pages: mutable.Map[Long, (Long, Int)] = mutable.HashMap.empty
}

private final class CopiedGroup(val index: Int, val start: Long, val columns: Seq[CopiedChunk])
