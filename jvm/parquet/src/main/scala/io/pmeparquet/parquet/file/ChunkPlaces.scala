package io.pmeparquet.parquet.file

import io.pmeparquet.parquet.bytes.{FileVersion, FooterBytes, Range}
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.PmeErrors

/** The places of column chunks in a file, checked to be inside the file. */
private[file] final class ChunkPlaces(version: FileVersion) {

  /** The place of a chunk. */
  def rangeOf(chunk: Chunk): Range = rangeOf(chunk, chunk.meta.getStartingPos, chunk.meta.getTotalSize)

  /** The place of a part of a chunk, checked to be inside the file. */
  def rangeOf(chunk: Chunk, offset: Long, length: Long): Range = {
    requireInFile(chunk, offset, length)
    if (length > ChunkPlaces.MaxChunkBytes)
      throw PmeErrors.unsupported(
        s"${version.path}, column '${chunk.display}'",
        s"a column chunk of $length bytes",
        "the page pipeline reads a column chunk into one array",
        "Read it with reader=spark. To copy or encrypt it, first write it again with smaller row groups."
      )
    Range(offset, length.toInt)
  }

  /** Where a chunk begins and ends, for callers that read it in parts. */
  def boundsOf(chunk: Chunk): (Long, Long) = {
    val (start, length) = (chunk.meta.getStartingPos, chunk.meta.getTotalSize)
    requireInFile(chunk, start, length)
    start -> (start + length)
  }

  private def requireInFile(chunk: Chunk, offset: Long, length: Long): Unit =
    if (offset < FooterBytes.FirstPageOffset || length < 0 || offset > version.length - length)
      throw PmeErrors.damaged(
        s"${version.path}, column '${chunk.display}'",
        s"its column chunk states $length bytes from offset $offset, in a file of ${version.length} bytes"
      )
}

private[file] object ChunkPlaces {

  /** The longest chunk that fits into an array. */
  val MaxChunkBytes: Int = Int.MaxValue - 8
}
