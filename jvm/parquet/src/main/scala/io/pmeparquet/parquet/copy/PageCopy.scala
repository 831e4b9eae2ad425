package io.pmeparquet.parquet.copy

import java.util.zip.CRC32

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.parquet.crypto.ModuleCipherFactory.ModuleType
import org.apache.parquet.format.{ColumnMetaData, Encoding, PageEncodingStats, PageHeader, PageType, Util}

import io.pmeparquet.parquet.bytes.FileBytes
import io.pmeparquet.parquet.chunk.{Chunk, StoredPage, StoredPages}
import io.pmeparquet.parquet.file.OpenFile
import io.pmeparquet.parquet.scope.ReadScope

/** Copies a file's pages, chunk by chunk. */
private[copy] final class PageCopy(file: OpenFile, bytes: FileBytes, out: ModuleFile, scope: ReadScope) {
  private var count = 0L

  /** The number of pages copied. */
  def pageCount: Long = count

  /** Copies the pages of a chunk, and updates the chunk's metadata with their new places. */
  def copy(copy: CopiedChunk): Unit = {
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
        count += 1
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
}
