package io.pmeparquet.parquet.copy

import scala.collection.mutable

import org.apache.parquet.format.{ColumnChunk, ColumnMetaData}

import io.pmeparquet.parquet.chunk.Chunk

/** A column chunk that is being copied, and the seal of its modules in the new file. */
private[copy] final class CopiedChunk(val chunk: Chunk, val seal: ModuleFile#ColumnSeal) {
  val struct: ColumnChunk = new ColumnChunk(chunk.struct)
  def metadata: ColumnMetaData = struct.getMeta_data

  /** The new offset and length, header included, of each data page, by its old offset. */
  val pages: mutable.Map[Long, (Long, Int)] = mutable.HashMap.empty
}
