package io.pmeparquet.parquet.chunk

import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.column.page.{DataPage, DataPageV1, DataPageV2}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.format.PageHeader

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.bytes.Limits

/**
 * Makes parquet-column's data pages from those of one chunk: decrypts and decompresses them, and checks everything that
 * decoders would trust. For one thread.
 */
private[chunk] final class DataPages(
    source: ChunkSource,
    codec: Codec,
    headers: PageHeaders,
    content: PageContent,
    rules: PageRules,
    memory: PageMemory
) {
  import source.where
  private val converter = new ParquetMetadataConverter
  private val bounds = new EncodingBounds(source.chunk.descriptor, where)
  private var output = Array.emptyByteArray

  def v1(
      header: PageHeader,
      place: PagePlace,
      body: Int,
      end: Int,
      rows: Option[PageRows]
  ): DataPage = {
    val page = header.getData_page_header
    val size = headers.uncompressed(header, end - body, Limits.PageBytes)
    val out = room(size)
    content.into(place, body, end, ModuleKind.DataPage, size, out)
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

  def v2(
      header: PageHeader,
      place: PagePlace,
      body: Int,
      end: Int,
      rows: Option[PageRows]
  ): DataPage = {
    val page = header.getData_page_header_v2
    val (rl, dl) = (page.getRepetition_levels_byte_length, page.getDefinition_levels_byte_length)
    val size = headers.uncompressed(header, end - body, Limits.PageBytes)
    if (rl < 0 || dl < 0 || rl.toLong + dl > size || page.getNum_nulls < 0) throw headers.contradiction(place)
    val parts = V2Parts.of(source, place, body, end, rl + dl, rules.allowClearLevels)
    val data = size - rl - dl
    val out = room(data)
    val compressed = !page.isSetIs_compressed || page.isIs_compressed
    // If all values are null, some writers store the empty frame of their codec.
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
