package io.pmeparquet.parquet.file

import java.io.Closeable

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.hadoop.ParquetInputFormat

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
  RowGroupChunks,
  Rows
}
import io.pmeparquet.parquet.scope.ReadScope

/** An open file with what one task needs to read it: a stream, codecs and counters. For one thread. */
private[file] final class FileInput(val file: OpenFile, conf: Configuration, val counters: ReadCounters)
    extends Closeable {
  val bytes: FileBytes = file.bytes(conf, counters)
  private val codecs = new Codecs(conf)
  val indexes: Indexes = new Indexes(file, bytes, counters)

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

/**
 * The pages, indexes and Bloom filters of an open file, for callers that look at whole columns and not at rows. It reads nothing
 * before it is asked. For one thread.
 *
 * @param scope in which the file was opened
 */
private[parquet] final class ColumnPages(
    scope: ReadScope,
    file: OpenFile,
    conf: Configuration,
    counters: ReadCounters
) extends Closeable {
  private val input = new FileInput(file, conf, counters)
  private val rules = PageRules(
    scope.settings.allowClearLevels,
    conf.getBoolean(ParquetInputFormat.PAGE_VERIFY_CHECKSUM_ENABLED, false),
    // Values of one page are kept while the next is read.
    vectorized = false
  )

  def indexes: Indexes = input.indexes

  /** All pages of some chunks of a row group, each decrypted when it is read. */
  def of(chunks: RowGroupChunks): PageReadStore =
    new RowGroupReader(input, chunks, None, None, rules, new Dictionaries).pages(None)

  override def close(): Unit = input.close()
}
