package io.pmeparquet.parquet.copy

import scala.collection.mutable

import org.apache.parquet.format.{ColumnChunk, ColumnMetaData}

import io.pmeparquet.parquet.chunk.Chunk

/** A column chunk on its way to its new file, and what seals it there. */
private[copy] final class CopiedChunk(val chunk: Chunk, val seal: ModuleFile#ColumnSeal) {
  val struct: ColumnChunk = new ColumnChunk(chunk.struct)
  def metadata: ColumnMetaData = struct.getMeta_data

  /** Where each data page lies now, and how long it is with its header, by where it lay before. */
  val pages: mutable.Map[Long, (Long, Int)] = mutable.HashMap.empty
}
