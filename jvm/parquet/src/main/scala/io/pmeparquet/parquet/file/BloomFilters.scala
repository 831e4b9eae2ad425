package io.pmeparquet.parquet.file

import java.io.ByteArrayInputStream
import java.util

import org.apache.parquet.column.values.bloomfilter.{BlockSplitBloomFilter, BloomFilter}
import org.apache.parquet.format.Util
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.hadoop.BloomFilterReader

import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{FileBytes, FileTail, Limits, Range, ReadCounters, Segment, ThriftBounds}
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.PmeErrors

/** Opens the Bloom filters of one file's chunks. For one thread. */
private[parquet] final class BloomFilters(file: OpenFile, bytes: FileBytes, counters: ReadCounters) {

  /** Opens every filter of the chunks, for readers that allocate what lengths claim. */
  def check(chunks: Seq[Chunk]): Unit = chunks.filter(_.meta.getBloomFilterOffset > 0).foreach(filterOf)

  /** parquet-java's access to the Bloom filters of a row group. */
  def reader(chunks: Seq[Chunk], block: BlockMetaData): BloomFilterReader =
    new BloomFilterReader(null, block) {
      override def readBloomFilter(meta: ColumnChunkMetaData): BloomFilter =
        chunks
          .find(_.meta.getPath == meta.getPath)
          .filter(_.meta.getBloomFilterOffset > 0)
          .map(filterOf)
          .orNull
    }

  private def filterOf(chunk: Chunk): BloomFilter = new BlockSplitBloomFilter(content(chunk)._2)

  /** The header of a chunk's Bloom filter and its bits, as stored but decrypted. */
  def content(chunk: Chunk): (Array[Byte], Array[Byte]) = {
    val header = this.header(chunk)
    header.content -> bits(chunk, header)
  }

  def header(chunk: Chunk): OpenedBloomHeader = {
    val offset = chunk.meta.getBloomFilterOffset
    val first = bytes.read(
      Range(offset, (file.version.length - offset).max(0).min(BloomFilters.BloomHeaderBytes.toLong).toInt)
    )
    val (stored, headerEnd) = headerOf(chunk, first)
    val header = FileTail.parse(where(chunk), "its Bloom filter header") {
      val end = ThriftBounds.end(stored, 0, stored.length)
      Util.readBloomFilterHeader(new ByteArrayInputStream(stored, 0, end))
    }
    val bitset = header.getNumBytes
    if (
      bitset < BloomFilters.BloomBlockBytes || bitset > Limits.IndexBytes || bitset % BloomFilters.BloomBlockBytes != 0
    )
      throw PmeErrors.damaged(where(chunk), s"the length of its Bloom filter is $bitset bytes")
    if (
      !header.getAlgorithm.isSetBLOCK || !header.getHash.isSetXXHASH || !header.getCompression.isSetUNCOMPRESSED
    )
      throw PmeErrors.damaged(where(chunk), "its Bloom filter is of a kind that Parquet does not define")
    new OpenedBloomHeader(stored, offset + (headerEnd - first.at), bitset)
  }

  def bits(chunk: Chunk, header: OpenedBloomHeader): Array[Byte] =
    file.modules(chunk, counters) match {
      case None => bytes.read(Range(header.bitsAt, header.bitsetBytes)).copied
      case Some(ciphers) =>
        val segment = bytes.read(Range(header.bitsAt, header.bitsetBytes + ModuleFrame.GcmOverheadBytes))
        val kind = ModuleKind.BloomFilterBitset
        val end = ciphers.headers.end(segment.array, segment.at, segment.until, Limits.IndexBytes, kind)
        val plain = new Array[Byte](header.bitsetBytes)
        if (end != segment.until)
          throw PmeErrors.damaged(where(chunk), "the size of its Bloom filter does not match its header")
        ciphers.headers.open(segment.array, segment.at, end, kind, 0, plain, 0)
        plain
    }

  /** The header's content, and its end in the segment. */
  private def headerOf(chunk: Chunk, segment: Segment): (Array[Byte], Int) =
    file.modules(chunk, counters) match {
      case None =>
        val end = FileTail.parse(where(chunk), "its Bloom filter header")(
          ThriftBounds.end(segment.array, segment.at, segment.until)
        )
        (util.Arrays.copyOfRange(segment.array, segment.at, end), end)
      case Some(ciphers) =>
        val kind = ModuleKind.BloomFilterHeader
        val end = ciphers.headers.end(segment.array, segment.at, segment.until, Limits.PageHeaderBytes, kind)
        val length = ciphers.headers.open(segment.array, segment.at, end, kind, 0)
        (util.Arrays.copyOf(ciphers.headers.plaintext, length), end)
    }

  private def where(chunk: Chunk) = s"${file.version.path}, column '${chunk.display}'"
}

private object BloomFilters {

  /** A Bloom filter's header takes about twenty bytes, and its module about fifty. */
  val BloomHeaderBytes = 256

  /** Split-block Bloom filters consist of blocks of this size. */
  val BloomBlockBytes = 32
}

/**
 * @param content the header as stored, but decrypted
 * @param bitsAt the offset of the bits in the file
 */
private[parquet] final class OpenedBloomHeader(
    val content: Array[Byte],
    val bitsAt: Long,
    val bitsetBytes: Int
)
