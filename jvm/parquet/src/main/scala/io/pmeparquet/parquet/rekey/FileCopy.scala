package io.pmeparquet.parquet.rekey

import java.io.ByteArrayInputStream
import java.util.zip.CRC32

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.parquet.crypto.ModuleCipherFactory.ModuleType
import org.apache.parquet.format.{ColumnChunk, ColumnMetaData, FileMetaData, RowGroup, Util}

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.{FileTail, ReadScope}
import io.pmeparquet.parquet.pages._
import io.pmeparquet.PmeErrors

/** The copying of one file, in the order in which parquet-java lays files out: pages, indexes, Bloom filters, footer. */
private[rekey] final class FileCopy(
    file: OpenFile,
    bytes: FileBytes,
    out: ModuleFile,
    scope: ReadScope,
    goOn: () => Unit
) {
  private val indexes = new Indexes(file, bytes, scope.counters)
  private val name = file.version.path.toString
  private var pageCount = 0L

  /** @return how many pages it has */
  def write(): Long = {
    val groups =
      (0 until file.rowGroupCount).map(index => new CopiedGroup(index, out.position, copyPages(index)))
    groups.foreach(group => copyColumnIndexes(group.columns))
    groups.foreach(group => copyOffsetIndexes(group.columns))
    groups.foreach(_.columns.foreach(copyBloomFilter))
    val footer = new FileMetaData(file.footer)
    footer.setRow_groups(groups.map(described).asJava)
    out.writeFooter(footer)
    pageCount
  }

  private def copyPages(group: Int): Seq[CopiedChunk] =
    file.chunks(group, scope.counters).map { chunk =>
      goOn()
      val copy = new CopiedChunk(chunk, out.column(chunk.descriptor.getPath.toSeq, group, chunk.ordinal))
      copyPages(copy)
      copy
    }

  private def copyPages(copy: CopiedChunk): Unit = {
    val start = out.position
    var dictionaryAt: Option[Long] = None
    var dataAt: Option[Long] = None
    var longerHeaders = 0L
    // Some writers give a chunk without values no place in the file.
    if (copy.chunk.meta.getValueCount > 0)
      pagesOf(copy.chunk).foreach { page =>
        val at = out.position
        longerHeaders += writePage(copy, page) - page.headerBytes
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
    // Deprecated, and 0 with the writers that follow the specification.
    if (copy.struct.getFile_offset > 0) copy.struct.setFile_offset(metadata.getData_page_offset)
    ()
  }

  private def pagesOf(chunk: Chunk) = new StoredPages(
    chunk,
    file.modules(chunk, scope.counters),
    bytes.read(file.rangeOf(chunk)),
    scope.settings.allowClearLevels,
    name
  )

  /**
   * Levels of V2 pages become part of the module, as Arrow writes them.
   *
   * @return what the header takes
   */
  private def writePage(copy: CopiedChunk, page: StoredPage): Int = {
    val (bodyKind, headerKind) =
      if (page.isDictionary) (ModuleType.DictionaryPage, ModuleType.DictionaryPageHeader)
      else (ModuleType.DataPage, ModuleType.DataPageHeader)
    // The number of the page among the data pages.
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
    indexes
      .contents(columns.map(_.chunk), kind) { chunk =>
        if (kind == ModuleKind.ColumnIndex) chunk.meta.getColumnIndexReference
        else chunk.meta.getOffsetIndexReference
      }
      .map { case (chunk, content) => copies(chunk) -> content }
  }

  /** An offset index whose pages lie where they lie now. */
  private def moved(copy: CopiedChunk, content: Array[Byte]): Array[Byte] = {
    val where = s"$name, column '${copy.chunk.display}'"
    val index = FileTail.parse(where, "its offset index") {
      Util.readOffsetIndex(new ByteArrayInputStream(content, 0, ThriftBounds.end(content, 0, content.length)))
    }
    index.getPage_locations.asScala.foreach { location =>
      val (offset, size) = copy.pages.getOrElse(
        location.getOffset,
        throw PmeErrors.damaged(
          where,
          s"its offset index names a page at ${location.getOffset}, where none is"
        )
      )
      location.setOffset(offset)
      location.setCompressed_page_size(size)
    }
    out.thrift(Util.writeOffsetIndex(index, _))
  }

  private def copyBloomFilter(copy: CopiedChunk): Unit =
    if (copy.chunk.meta.getBloomFilterOffset > 0) {
      val (header, bits) = indexes.bloomContent(copy.chunk)
      val (offset, headerLength) = put(copy, ModuleType.BloomFilterHeader, header)
      val (_, bitsLength) = put(copy, ModuleType.BloomFilterBitset, bits)
      copy.metadata.setBloom_filter_offset(offset)
      // The oldest parquet-java that this is compiled against does not know the length, and keeps none.
      Option(ColumnMetaData._Fields.findByThriftId(FileCopy.BloomFilterLength)).foreach { length =>
        copy.metadata.setFieldValue(length, Int.box(headerLength + bitsLength))
      }
    }

  private def put(copy: CopiedChunk, kind: ModuleType, content: Array[Byte]): (Long, Int) = {
    val at = out.position
    out.write(copy.seal.module(kind, content))
    at -> (out.position - at).toInt
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
}

private object FileCopy {

  /** `ColumnMetaData.bloom_filter_length` in parquet.thrift. */
  val BloomFilterLength = 15
}

private final class CopiedGroup(val index: Int, val start: Long, val columns: Seq[CopiedChunk])

/** A column chunk on its way to its new file, and what seals it there. */
private final class CopiedChunk(val chunk: Chunk, val seal: ModuleFile#ColumnSeal) {
  val struct: ColumnChunk = new ColumnChunk(chunk.struct)
  def metadata: ColumnMetaData = struct.getMeta_data

  /** Where each data page lies now, and how long it is with its header, by where it lay before. */
  val pages: mutable.Map[Long, (Long, Int)] = mutable.HashMap.empty
}
