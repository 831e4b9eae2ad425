package io.pmeparquet.parquet.file

import java.io.Closeable

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.parquet.bytes.{FileBytes, ReadCounters}
import io.pmeparquet.parquet.chunk.{
  Chunk,
  ChunkPages,
  Codec,
  Codecs,
  Dictionaries,
  PageMemory,
  PagePlaces,
  PageRules,
  Rows
}

/** An open file with what one task needs to read it: a stream, codecs and counters. For one thread. */
private[file] final class FileInput(val file: OpenFile, conf: Configuration, val counters: ReadCounters)
    extends Closeable {
  val bytes: FileBytes = file.bytes(conf, counters)
  private val codecs = new Codecs(conf)
  val indexes: Indexes = new Indexes(file, bytes, counters)
  val filters: BloomFilters = new BloomFilters(file, bytes, counters)

  def codecOf(chunk: Chunk): Codec = codecs.of(chunk.meta.getCodec)

  /** The pages of a chunk, for [[ChunkPages]]. */
  def pages(
      chunk: Chunk,
      places: PagePlaces,
      wanted: Option[Rows],
      rules: PageRules,
      memory: PageMemory,
      opened: Dictionaries
  ): ChunkPages =
    new ChunkPages(file.source(chunk, counters), codecOf(chunk), places, wanted, rules, memory, opened)

  override def close(): Unit = {
    bytes.close()
    codecs.close()
  }
}
