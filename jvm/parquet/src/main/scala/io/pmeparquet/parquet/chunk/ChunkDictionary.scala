package io.pmeparquet.parquet.chunk

import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.column.page.DictionaryPage
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.format.PageType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.bytes.Limits
import io.pmeparquet.PmeErrors

/**
 * Opens the dictionary page of one chunk. For one thread.
 *
 * @param opened the dictionaries of the row group that are decrypted already
 */
private[chunk] final class ChunkDictionary(
    source: ChunkSource,
    pages: PagePlaces,
    headers: PageHeaders,
    content: PageContent,
    memory: PageMemory,
    opened: Dictionaries
) {
  import source.{chunk, modules, where}
  private val converter = new ParquetMetadataConverter

  /** The dictionary, if the page at a place is one. */
  def at(place: PagePlace): Option[DictionaryPage] =
    opened.find(chunk.meta.getPath) match {
      case Some(had) =>
        pages.passed(place, place.index + had.length)
        Some(had.page)
      case None => read(place)
    }

  private def read(place: PagePlace): Option[DictionaryPage] = {
    val (header, body) = headers.at(place, ModuleKind.DictionaryPageHeader)
    if (header.getType == PageType.DICTIONARY_PAGE && header.isSetDictionary_page_header) {
      val end = headers.bodyEnd(header, body, place)
      val size = headers.uncompressed(header, end - body, Limits.DictionaryBytes)
      val dictionary = header.getDictionary_page_header
      val values = dictionary.getNum_values
      if (values < 0 || values.toLong * leastBytes > size)
        throw PmeErrors.damaged(where, s"its dictionary states $values values in $size bytes")
      memory.exchange(0, size + values.toLong * valueBytes, where)
      val out = new Array[Byte](size)
      content.into(place, body, end, ModuleKind.DictionaryPage, size, out)
      pages.passed(place, end)
      val encoding = converter.getEncoding(dictionary.getEncoding)
      val page = new DictionaryPage(BytesInput.from(out), size, dictionary.getNum_values, encoding)
      opened.keep(chunk.meta.getPath, page, end - place.index)
      Some(page)
    } else if (modules.isEmpty) None
    else throw PmeErrors.damaged(where, "it has another page in place of its dictionary")
  }

  /** The fewest bytes of a plain value. */
  private def leastBytes: Int = chunk.descriptor.getPrimitiveType.getPrimitiveTypeName match {
    case PrimitiveTypeName.INT64 | PrimitiveTypeName.DOUBLE => 8
    case PrimitiveTypeName.INT96 => 12
    case PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY => chunk.descriptor.getPrimitiveType.getTypeLength.max(1)
    case PrimitiveTypeName.BOOLEAN => 1
    case _ => 4
  }

  private def valueBytes = chunk.descriptor.getPrimitiveType.getPrimitiveTypeName match {
    case PrimitiveTypeName.BINARY | PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY | PrimitiveTypeName.INT96 =>
      ChunkDictionary.ObjectBytes
    case _ => ChunkDictionary.NumberBytes
  }
}

private object ChunkDictionary {

  /** The memory of a decoded dictionary value: a number, or an object that refers to bytes. */
  val NumberBytes = 8
  val ObjectBytes = 40
}
