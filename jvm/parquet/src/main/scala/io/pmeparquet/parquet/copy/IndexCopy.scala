package io.pmeparquet.parquet.copy

import java.io.ByteArrayInputStream

import scala.collection.JavaConverters._

import org.apache.parquet.crypto.ModuleCipherFactory.ModuleType
import org.apache.parquet.format.{ColumnMetaData, Util}

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.bytes.{FileBytes, FileTail, ThriftBounds}
import io.pmeparquet.parquet.file.{BloomFilters, Indexes, OpenFile}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeErrors

/** Copies a file's indexes and Bloom filters, once its pages are copied. */
private[copy] final class IndexCopy(file: OpenFile, bytes: FileBytes, out: ModuleFile, scope: ReadScope) {
  private val indexes = new Indexes(file, bytes, scope.counters)
  private val filters = new BloomFilters(file, bytes, scope.counters)

  def copyColumnIndexes(columns: Seq[CopiedChunk]): Unit =
    contents(columns, ModuleKind.ColumnIndex).foreach { case (copy, content) =>
      val (offset, length) = put(copy, ModuleType.ColumnIndex, content)
      copy.struct.setColumn_index_offset(offset)
      copy.struct.setColumn_index_length(length)
    }

  def copyOffsetIndexes(columns: Seq[CopiedChunk]): Unit =
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

  /** An offset index with the new places of its pages. */
  private def moved(copy: CopiedChunk, content: Array[Byte]): Array[Byte] = {
    val where = s"${file.version.path}, column '${copy.chunk.display}'"
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

  def copyBloomFilter(copy: CopiedChunk): Unit =
    if (copy.chunk.meta.getBloomFilterOffset > 0) {
      val (header, bits) = filters.content(copy.chunk)
      val (offset, headerLength) = put(copy, ModuleType.BloomFilterHeader, header)
      val (_, bitsLength) = put(copy, ModuleType.BloomFilterBitset, bits)
      copy.metadata.setBloom_filter_offset(offset)
      // The oldest parquet-java that this compiles against does not have the length, and drops it.
      Option(ColumnMetaData._Fields.findByThriftId(IndexCopy.BloomFilterLength)).foreach { length =>
        copy.metadata.setFieldValue(length, Int.box(headerLength + bitsLength))
      }
    }

  private def put(copy: CopiedChunk, kind: ModuleType, content: Array[Byte]): (Long, Int) = {
    val at = out.position
    out.write(copy.seal.module(kind, content))
    at -> (out.position - at).toInt
  }
}

private object IndexCopy {

  /** `ColumnMetaData.bloom_filter_length` in parquet.thrift. */
  val BloomFilterLength = 15
}
