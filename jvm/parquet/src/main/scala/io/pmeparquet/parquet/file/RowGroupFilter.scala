package io.pmeparquet.parquet.file

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.column.page.{DictionaryPage, DictionaryPageReadStore}
import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.filter2.bloomfilterlevel.BloomFilterImpl
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.filter2.dictionarylevel.DictionaryFilter
import org.apache.parquet.filter2.predicate.FilterPredicate
import org.apache.parquet.filter2.statisticslevel.StatisticsFilter
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.parquet.hadoop.ParquetInputFormat
import org.apache.parquet.internal.filter2.columnindex.ColumnIndexFilter

import io.pmeparquet.parquet.bytes.{Limits, ParquetFailures, Range}
import io.pmeparquet.parquet.chunk.{
  AllPages,
  Chunk,
  Dictionaries,
  PageMemory,
  PageRules,
  RowGroupChunks,
  Rows
}
import io.pmeparquet.parquet.schema.PredicateColumns

/** Applies parquet-java's filters to a file's row groups. For one thread. */
private[file] final class RowGroupFilter(
    input: FileInput,
    predicate: FilterPredicate,
    rules: PageRules,
    conf: Configuration
) {
  private def isSet(name: String, otherwise: Boolean) = conf.getBoolean(name, otherwise)

  /** Whether statistics, dictionaries or Bloom filters show that no row can match. */
  def canDrop(opened: RowGroupChunks, kept: Dictionaries): Boolean = {
    val columns = opened.chunks.map(_.meta).asJava
    def byStatistics = isSet(ParquetInputFormat.STATS_FILTERING_ENABLED, otherwise = true) &&
      StatisticsFilter.canDrop(predicate, columns)
    def byDictionaries = isSet(ParquetInputFormat.DICTIONARY_FILTERING_ENABLED, otherwise = true) &&
      DictionaryFilter.canDrop(predicate, columns, dictionaries(opened, kept))
    def byBloomFilters = isSet(ParquetInputFormat.BLOOM_FILTERING_ENABLED, otherwise = true) &&
      BloomFilterImpl.canDrop(predicate, columns, input.filters.reader(opened.chunks, opened.block.get))
    byStatistics || (!PredicateColumns.comparesWithZero(predicate) && (byDictionaries || byBloomFilters))
  }

  private def dictionaries(opened: RowGroupChunks, kept: Dictionaries) =
    new DictionaryPageReadStore {
      override def readDictionaryPage(column: ColumnDescriptor): DictionaryPage =
        opened.chunks.find(_.descriptor == column).map(dictionary(_, kept)).orNull
    }

  private def dictionary(chunk: Chunk, kept: Dictionaries): DictionaryPage = {
    val length = chunk.meta.getFirstDataPageOffset - chunk.meta.getStartingPos
    if (length <= 0 || length > Limits.PageBytes) null
    else {
      val segment = input.bytes.read(Range(chunk.meta.getStartingPos, length.toInt))
      input
        .pages(chunk, new AllPages(segment), None, rules.copy(vectorized = false), new PageMemory, kept)
        .readDictionaryPage()
    }
  }

  /** The indexes that show which rows may match; none if indexes are not used, or a chunk has none. */
  def indexesOf(opened: RowGroupChunks): Option[RowGroupIndexes] =
    if (rules.vectorized && isSet(ParquetInputFormat.COLUMN_INDEX_FILTERING_ENABLED, otherwise = true))
      input.indexes.read(opened.chunks, PredicateColumns.of(predicate))
    else None

  /** The rows that may match. */
  def rows(store: RowGroupIndexes, opened: RowGroupChunks): Rows =
    ParquetFailures.naming(input.file.version.path, "its page index") {
      val paths: Set[ColumnPath] = opened.chunks.map(_.meta.getPath).toSet
      Rows.of(
        ColumnIndexFilter.calculateRowRanges(
          FilterCompat.get(predicate),
          store,
          paths.asJava,
          input.file.rowCount(opened.rowGroup)
        )
      )
    }
}
