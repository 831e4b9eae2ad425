package io.pmeparquet.parquet.file

import java.io.ByteArrayInputStream

import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.format.Util
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.parquet.internal.column.columnindex.{ColumnIndex, OffsetIndex}
import org.apache.parquet.internal.filter2.columnindex.ColumnIndexStore
import org.apache.parquet.internal.hadoop.metadata.IndexReference

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.bytes.{
  FileBytes,
  FileTail,
  Limits,
  ParquetFailures,
  Range,
  ReadCounters,
  Segment,
  ThriftBounds
}
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.PmeErrors

/** Opens the index modules of one file's chunks. For one thread. */
private[parquet] final class Indexes(file: OpenFile, bytes: FileBytes, counters: ReadCounters) {

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
      val found = wanted
        .zip(segments)
        .map { case ((chunk, reference), segment) =>
          (chunk.meta.getPath, reference eq chunk.meta.getOffsetIndexReference) -> (chunk -> segment)
        }
        .toMap
      val offsets = found.collect { case ((path, true), (chunk, segment)) =>
        path -> offsetIndex(chunk, segment)
      }
      val columns = found.collect { case ((path, false), (chunk, segment)) =>
        path -> columnIndex(chunk, segment)
      }
      Some(new RowGroupIndexes(offsets, columns))
    }

  /** Opens every index of the chunks, for readers that allocate what lengths claim. */
  def check(chunks: Seq[Chunk]): Unit = {
    read(chunks.filter(_.meta.getOffsetIndexReference != null), chunks.map(_.meta.getPath).toSet)
    ()
  }

  /**
   * The content of index modules of several chunks, as stored but decrypted: each chunk that has one, and the content.
   *
   * @param reference the place of a chunk's index; null if it has none
   */
  def contents(chunks: Seq[Chunk], kind: ModuleKind)(
      reference: Chunk => IndexReference
  ): Seq[(Chunk, Array[Byte])] = {
    val there = chunks.filter(chunk => reference(chunk) != null)
    val segments = bytes.readAll(there.map(chunk => rangeOf(chunk, reference(chunk))))
    there.zip(segments).map { case (chunk, segment) => chunk -> opened(chunk, segment, kind).copied }
  }

  private def rangeOf(chunk: Chunk, reference: IndexReference): Range = {
    if (reference.getLength < 0 || reference.getLength > Limits.IndexBytes)
      throw PmeErrors.damaged(where(chunk), s"the length of an index is ${reference.getLength} bytes")
    Range(reference.getOffset, reference.getLength)
  }

  private def offsetIndex(chunk: Chunk, segment: Segment): OffsetIndex = {
    val index = ParquetFailures.naming(file.version.path, s"the offset index of column '${chunk.display}'") {
      ParquetMetadataConverter.fromParquetOffsetIndex(
        module(chunk, segment, ModuleKind.OffsetIndex)(Util.readOffsetIndex(_))
      )
    }
    check(chunk, index)
    index
  }

  /** Requires that the pages follow each other in their chunk, and so do their rows. */
  private def check(chunk: Chunk, index: OffsetIndex): Unit = {
    val end = chunk.meta.getStartingPos + chunk.meta.getTotalSize
    // parquet-java returns none for an empty one.
    if (index == null || index.getPageCount == 0)
      throw PmeErrors.damaged(where(chunk), "its offset index has no pages")
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
        throw PmeErrors.damaged(where(chunk), s"its offset index contradicts itself at page $page")
    }
  }

  private def columnIndex(chunk: Chunk, segment: Segment): ColumnIndex =
    ParquetFailures.naming(file.version.path, s"the column index of column '${chunk.display}'") {
      ParquetMetadataConverter.fromParquetColumnIndex(
        chunk.meta.getPrimitiveType,
        module(chunk, segment, ModuleKind.ColumnIndex)(Util.readColumnIndex(_))
      )
    }

  /** A module's content, valid until the next is opened. */
  private def opened(chunk: Chunk, segment: Segment, kind: ModuleKind): Segment =
    file.modules(chunk, counters) match {
      case None => segment
      case Some(ciphers) =>
        val end = ciphers.headers.end(segment.array, segment.at, segment.until, Limits.IndexBytes, kind)
        val length = ciphers.headers.open(segment.array, segment.at, end, kind, 0)
        new Segment(ciphers.headers.plaintext, 0, segment.offset, length)
    }

  private def module[A](chunk: Chunk, segment: Segment, kind: ModuleKind)(
      parse: ByteArrayInputStream => A
  ): A = {
    val content = opened(chunk, segment, kind)
    FileTail.parse(where(chunk), s"its ${kind.name}") {
      val end = ThriftBounds.end(content.array, content.at, content.until)
      parse(new ByteArrayInputStream(content.array, content.at, end - content.at))
    }
  }

  private def where(chunk: Chunk) = s"${file.version.path}, column '${chunk.display}'"
}

private[parquet] final class RowGroupIndexes(
    offsets: Map[ColumnPath, OffsetIndex],
    columns: Map[ColumnPath, ColumnIndex]
) extends ColumnIndexStore {
  override def getColumnIndex(path: ColumnPath): ColumnIndex = columns.getOrElse(path, null)
  override def getOffsetIndex(path: ColumnPath): OffsetIndex =
    offsets.getOrElse(path, throw new ColumnIndexStore.MissingOffsetIndexException(path))
}
