package io.pmeparquet.parquet.file

import java.io.Closeable

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.hadoop.ParquetInputFormat

import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.chunk.{Dictionaries, PageRules, RowGroupChunks}
import io.pmeparquet.parquet.scope.ReadScope

/**
 * The pages and Bloom filters of an open file, for callers that look at whole columns and not at rows. It reads nothing
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

  def bloomFilters: BloomFilters = input.filters

  /** All pages of some chunks of a row group, each decrypted when it is read. */
  def of(chunks: RowGroupChunks): PageReadStore =
    new RowGroupReader(input, chunks, None, None, rules, new Dictionaries).pages(None)

  override def close(): Unit = input.close()
}
