package io.pmeparquet.parquet.copy

import scala.collection.mutable

import org.apache.parquet.format.{ColumnChunk, ColumnMetaData}

import io.pmeparquet.parquet.chunk.Chunk

/** A column chunk on its way to its new file, and the encryptors of its modules. */
private[copy] final class CopiedChunk(val chunk: Chunk, val seal: ModuleFile#ColumnSeal) {
  val struct: ColumnChunk = new ColumnChunk(chunk.struct)
  def metadata: ColumnMetaData = struct.getMeta_data

  /** The new offset of each data page and its length with header, by its old offset. */
  val pages: mutable.Map[Long, (Long, Int)] = mutable.HashMap.empty
}
