package io.pmeparquet.parquet.file

import java.io.{ByteArrayInputStream, InputStream}
import java.util.Arrays

import org.apache.parquet.column.values.bloomfilter.{BlockSplitBloomFilter, BloomFilter}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.format.Util
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData, ColumnPath}
import org.apache.parquet.hadoop.BloomFilterReader
import org.apache.parquet.internal.column.columnindex.{ColumnIndex, OffsetIndex}
import org.apache.parquet.internal.filter2.columnindex.ColumnIndexStore
import org.apache.parquet.internal.hadoop.metadata.IndexReference

import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes._
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.PmeErrors

/** Opens the indexes and Bloom filters of one file's chunks. For one thread. */
private[parquet] final class Indexes(file: OpenFile, bytes: FileBytes, counters: ReadCounters) {
  import Indexes._

  /**
   * Reads the indexes of a row group, in as few requests as their places allow.
   *
   * @param filtered columns whose column indexes are wanted; it reads the offset indexes of all chunks
   * @return none if a chunk has no offset index, since then no page can be found by its rows
   */
  def read(chunks: Seq[Chunk], filtered: Set[ColumnPath]): Option[RowGroupIndexes] =
    if (chunks.isEmpty || chunks.exists(_.meta.getOffsetIndexReference == null)) None
    else {
      val wanted = chunks.flatMap { chunk =>
        val column =
          if (filtered.contains(chunk.meta.getPath)) Option(chunk.meta.getColumnIndexReference) else None
        Seq(chunk -> chunk.meta.getOffsetIndexReference) ++ column.map(chunk -> _)
      }
      val segments = bytes.readAll(wanted.map { case (chunk, reference) => rangeOf(chunk, reference) })
      val (offsets, columns) = wanted.zip(segments).partition { case ((chunk, reference), _) =>
        reference eq chunk.meta.getOffsetIndexReference
      }
      Some(
        new RowGroupIndexes(
          offsets.map { case ((chunk, _), read) => chunk.meta.getPath -> offsetIndex(chunk, read) }.toMap,
          columns.map { case ((chunk, _), read) => chunk.meta.getPath -> columnIndex(chunk, read) }.toMap
        )
      )
    }

  /** Opens every index and filter of the chunks, for readers that allocate what lengths claim. */
  def check(chunks: Seq[Chunk]): Unit = {
    read(chunks.filter(_.meta.getOffsetIndexReference != null), chunks.map(_.meta.getPath).toSet)
    chunks.filter(hasFilter).foreach(filterContent)
  }

  /**
   * The content of index modules of several chunks, as stored but decrypted: each chunk that has one, and the content.
   *
   * @param kind `ColumnIndex` or `OffsetIndex`
   */
  def contents(chunks: Seq[Chunk], kind: ModuleKind): Seq[(Chunk, Array[Byte])] = {
    val there = chunks.flatMap { chunk =>
      val reference =
        if (kind == ModuleKind.ColumnIndex) chunk.meta.getColumnIndexReference
        else chunk.meta.getOffsetIndexReference
      Option(reference).map(chunk -> _)
    }
    val segments = bytes.readAll(there.map { case (chunk, reference) => rangeOf(chunk, reference) })
    there.zip(segments).map { case ((chunk, _), segment) =>
      chunk -> opened(chunk, segment, kind, Limits.IndexBytes)._1.copied
    }
  }

  private def rangeOf(chunk: Chunk, reference: IndexReference): Range = {
    if (reference.getLength < 0 || reference.getLength > Limits.IndexBytes)
      throw PmeErrors.damaged(file.where(chunk), s"the length of an index is ${reference.getLength} bytes")
    Range(reference.getOffset, reference.getLength)
  }

  private def offsetIndex(chunk: Chunk, segment: Segment): OffsetIndex = {
    val index = ParquetFailures.naming(file.version.path, s"the offset index of column '${chunk.display}'") {
      ParquetMetadataConverter.fromParquetOffsetIndex(
        parsed(chunk, segment, ModuleKind.OffsetIndex)(Util.readOffsetIndex(_))
      )
    }
    requireOrder(chunk, index)
    index
  }

  /** Requires that the pages follow each other in their chunk, and so do their rows. */
  private def requireOrder(chunk: Chunk, index: OffsetIndex): Unit = {
    val end = chunk.meta.getStartingPos + chunk.meta.getTotalSize
    // parquet-java returns none for an empty one.
    if (index == null || index.getPageCount == 0)
      throw PmeErrors.damaged(file.where(chunk), "its offset index has no pages")
    (0 until index.getPageCount).foreach { page =>
      val (offset, size, row) =
        (index.getOffset(page), index.getCompressedPageSize(page), index.getFirstRowIndex(page))
      val (after, rowAfter) =
        if (page == 0) (chunk.meta.getStartingPos, 0L)
        else
          (
            index.getOffset(page - 1) + index.getCompressedPageSize(page - 1),
            index.getFirstRowIndex(page - 1)
          )
      val rowFits = if (page == 0) row == 0 else row >= rowAfter && row <= chunk.rowCount
      if (offset < after || size < 0 || size > end - offset || !rowFits)
        throw PmeErrors.damaged(file.where(chunk), s"its offset index contradicts itself at page $page")
    }
  }

  private def columnIndex(chunk: Chunk, segment: Segment): ColumnIndex =
    ParquetFailures.naming(file.version.path, s"the column index of column '${chunk.display}'") {
      ParquetMetadataConverter.fromParquetColumnIndex(
        chunk.meta.getPrimitiveType,
        parsed(chunk, segment, ModuleKind.ColumnIndex)(Util.readColumnIndex(_))
      )
    }

  private def parsed[A](chunk: Chunk, segment: Segment, kind: ModuleKind)(parse: InputStream => A): A = {
    val (content, _) = opened(chunk, segment, kind, Limits.IndexBytes)
    struct(content, file.where(chunk), s"its ${kind.name}")(parse)._1
  }

  /** A module's content, valid until the next is opened, and where the module ends in the segment's array. */
  private def opened(chunk: Chunk, segment: Segment, kind: ModuleKind, limit: Int): (Segment, Int) =
    file.modules(chunk, counters) match {
      case None => (segment, segment.until)
      case Some(ciphers) =>
        val end = ciphers.headers.end(segment.array, segment.at, segment.until, limit, kind)
        val length = ciphers.headers.open(segment.array, segment.at, end, kind, 0)
        (new Segment(ciphers.headers.plaintext, 0, segment.offset, length), end)
    }

  /** parquet-java's access to the Bloom filters of a row group. */
  def filters(chunks: Seq[Chunk], block: BlockMetaData): BloomFilterReader =
    new BloomFilterReader(null, block) {
      override def readBloomFilter(meta: ColumnChunkMetaData): BloomFilter =
        chunks
          .find(_.meta.getPath == meta.getPath)
          .filter(hasFilter)
          .map(chunk => new BlockSplitBloomFilter(filterContent(chunk)._2))
          .orNull
    }

  def hasFilter(chunk: Chunk): Boolean = Indexes.hasFilter(chunk)

  /** The header of a chunk's Bloom filter and its bits, as stored but decrypted. */
  def filterContent(chunk: Chunk): (Array[Byte], Array[Byte]) = {
    val header = filterHeader(chunk)
    header.content -> filterBits(chunk, header)
  }

  def filterHeader(chunk: Chunk): OpenedFilterHeader = {
    val offset = chunk.meta.getBloomFilterOffset
    val first =
      bytes.read(Range(offset, (file.version.length - offset).max(0).min(FilterHeaderBytes.toLong).toInt))
    val (content, moduleEnd) = opened(chunk, first, ModuleKind.BloomFilterHeader, Limits.PageHeaderBytes)
    val (header, structEnd) =
      struct(content, file.where(chunk), "its Bloom filter header")(Util.readBloomFilterHeader(_))
    val bitset = header.getNumBytes
    if (bitset < FilterBlockBytes || bitset > Limits.IndexBytes || bitset % FilterBlockBytes != 0)
      throw PmeErrors.damaged(file.where(chunk), s"the length of its Bloom filter is $bitset bytes")
    if (
      !header.getAlgorithm.isSetBLOCK || !header.getHash.isSetXXHASH || !header.getCompression.isSetUNCOMPRESSED
    )
      throw PmeErrors.damaged(
        file.where(chunk),
        "its Bloom filter is of a kind that Parquet does not define"
      )
    val isPlain = content eq first
    new OpenedFilterHeader(
      Arrays.copyOfRange(content.array, content.at, if (isPlain) structEnd else content.until),
      offset + ((if (isPlain) structEnd else moduleEnd) - first.at),
      bitset
    )
  }

  def filterBits(chunk: Chunk, header: OpenedFilterHeader): Array[Byte] =
    file.modules(chunk, counters) match {
      case None => bytes.read(Range(header.bitsAt, header.bitsetBytes)).copied
      case Some(ciphers) =>
        val segment = bytes.read(Range(header.bitsAt, header.bitsetBytes + ModuleFrame.GcmOverheadBytes))
        val kind = ModuleKind.BloomFilterBitset
        val end = ciphers.headers.end(segment.array, segment.at, segment.until, Limits.IndexBytes, kind)
        if (end != segment.until)
          throw PmeErrors.damaged(
            file.where(chunk),
            "the size of its Bloom filter does not match its header"
          )
        val plain = new Array[Byte](header.bitsetBytes)
        ciphers.headers.open(segment.array, segment.at, end, kind, 0, plain, 0)
        plain
    }
}

private[parquet] object Indexes {
  def hasFilter(chunk: Chunk): Boolean = chunk.meta.getBloomFilterOffset > 0

  /** A Bloom filter's header takes about twenty bytes, and its module about fifty. */
  val FilterHeaderBytes = 256

  /** Split-block Bloom filters consist of blocks of this size. */
  val FilterBlockBytes = 32

  /** A struct at the beginning of a segment, and where it ends in the segment's array. */
  def struct[A](content: Segment, where: String, what: String)(parse: InputStream => A): (A, Int) =
    FileTail.parse(where, what) {
      val end = ThriftBounds.end(content.array, content.at, content.until)
      parse(new ByteArrayInputStream(content.array, content.at, end - content.at)) -> end
    }
}

/**
 * The header of a Bloom filter.
 *
 * @param content the header as stored, but decrypted
 * @param bitsAt the offset of the bits in the file
 */
private[parquet] final class OpenedFilterHeader(
    val content: Array[Byte],
    val bitsAt: Long,
    val bitsetBytes: Int
)

private[parquet] final class RowGroupIndexes(
    offsets: Map[ColumnPath, OffsetIndex],
    columns: Map[ColumnPath, ColumnIndex]
) extends ColumnIndexStore {
  override def getColumnIndex(path: ColumnPath): ColumnIndex = columns.getOrElse(path, null)
  override def getOffsetIndex(path: ColumnPath): OffsetIndex =
    offsets.getOrElse(path, throw new ColumnIndexStore.MissingOffsetIndexException(path))
}
