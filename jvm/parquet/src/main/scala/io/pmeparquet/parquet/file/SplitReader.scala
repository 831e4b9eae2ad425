package io.pmeparquet.parquet.pages

import java.io.Closeable

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.page.{DictionaryPage, DictionaryPageReadStore}
import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.filter2.bloomfilterlevel.BloomFilterImpl
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.filter2.dictionarylevel.DictionaryFilter
import org.apache.parquet.filter2.predicate.{FilterPredicate, LogicalInverseRewriter}
import org.apache.parquet.filter2.statisticslevel.StatisticsFilter
import org.apache.parquet.hadoop.metadata.{ColumnPath, FileMetaData}
import org.apache.parquet.hadoop.ParquetInputFormat
import org.apache.parquet.internal.filter2.columnindex.ColumnIndexFilter
import org.apache.parquet.schema.MessageType

import io.pmeparquet.parquet.{FileVersion, ReadScope, SchemaColumns, WantedColumns}
import io.pmeparquet.PmeErrors

/**
 * One split of one file, row group by row group, for one task. The way from here to a page's AES call:
 * [[PagedRowGroup.pages]], `ChunkPages`, `Modules`, `AesGcm`.
 *
 * @param counters of the task
 */
final class PagedFile(scope: ReadScope, val path: Path, conf: Configuration, counters: ReadCounters)
    extends Closeable {

  /** Counted with the scope. */
  def this(scope: ReadScope, path: Path, conf: Configuration) = this(scope, path, conf, scope.counters)

  // As it is now: a file that was altered since it was listed is another one, whose footer is not known.
  private val file = OpenFile(scope, FileVersion.of(path, conf), conf, counters)
  private val bytes = file.bytes(conf, counters)
  private val codecs = new Codecs(conf)
  private val indexes = new Indexes(file, bytes, counters)

  private def isSet(name: String, otherwise: Boolean) = conf.getBoolean(name, otherwise)

  private var shown: FileMetaData = file.fileMetaData

  /** Schema, key-value metadata and writer. */
  def metadata: FileMetaData = shown

  /**
   * Those of some columns whose keys the KMS refuses to this reader.
   *
   * @param wanted columns, of which the file need not have all
   */
  def refused(wanted: MessageType): Seq[RefusedColumn] = file.refused(here(wanted), counters)

  /** From now on the file is read as if it did not have these columns. */
  def hide(columns: Seq[RefusedColumn]): Unit =
    shown = new FileMetaData(
      SchemaColumns.without(shown.getSchema, columns.map(_.path)),
      shown.getKeyValueMetaData,
      shown.getCreatedBy
    )

  private def here(wanted: MessageType): Seq[Seq[String]] = {
    val present = pathsOf(shown.getSchema).toSet
    pathsOf(wanted).filter(present.contains)
  }

  private def pathsOf(schema: MessageType) = schema.getColumns.asScala.map(_.getPath.toSeq).toSeq

  /**
   * How long a split is of the file as it is now. Splits are cut by the length that a file had when it was listed; where it
   * was replaced by a longer one since, the last reaches to the new end.
   *
   * @param listed the length then; 0 where nobody knows
   * @throws io.pmeparquet.PmeException where other splits may have met the file before. Where plaintext is let through, it
   *   may have been encrypted in its place, and row groups lie elsewhere now
   */
  def splitLength(start: Long, length: Long, listed: Long): Long = {
    val now = file.version.length
    if (
      listed > 0 && listed != now && length < listed && file.isEncrypted && scope.settings.allowPlaintextFiles
    )
      throw PmeErrors.changedSinceListed(path.toString)
    if (start + length == listed) length.max(now - start) else length
  }

  /**
   * The row groups of a split that may hold rows for a filter, each found when it is asked for.
   *
   * @param requested the columns that are read, of which the file need not have all
   * @param filter what parquet-java's filters for row groups and pages can make use of
   * @param vectorized whether Spark's vectorized decoders read the pages: they copy values, so that a page may be
   *   overwritten by the next of its column, and they can leave out single rows. parquet-column's record assembly keeps
   *   values, and loses count where the last wanted row is the only one in its page; it gets all rows.
   */
  def rowGroups(
      start: Long,
      length: Long,
      requested: MessageType,
      filter: Option[FilterPredicate],
      vectorized: Boolean
  ): Iterator[PagedRowGroup] = {
    val columns = here(requested)
    val rules = PageRules(
      scope.settings.allowClearLevels,
      isSet(ParquetInputFormat.PAGE_VERIFY_CHECKSUM_ENABLED, otherwise = false),
      vectorized
    )
    // parquet-java's filters take no negations, and take a column that they are not shown for one without values.
    val judged = filter
      .filter(PredicateColumns.of(_).forall(path => columns.contains(path.toArray.toSeq)))
      .map(LogicalInverseRewriter.rewrite)
    file.rowGroups(start, length).iterator.flatMap(rowGroup(_, columns, judged, rules))
  }

  /**
   * Looks at what a reader that believes lengths would meet in a split: the metadata of the wanted columns, their page
   * headers, indexes and filters. No page is opened.
   *
   * @throws io.pmeparquet.PmeException whatever keeps the columns from being read
   */
  def check(start: Long, length: Long, listed: Long, wanted: WantedColumns): Unit = {
    val here = file.rowGroups(start, length)
    // Another reader goes by the split as it was cut.
    if (file.rowGroups(start, splitLength(start, length, listed)) != here)
      throw PmeErrors.changedSinceListed(path.toString)
    val columns = wanted.in(file.schema).map(_.path)
    here.foreach { index =>
      val chunks = file.chunks(index, columns, counters).chunks.filter(_.meta.getValueCount > 0)
      if (!scope.settings.allowClearLevels) chunks.filter(_.mayHaveClearLevels).foreach { chunk =>
        throw PmeErrors.clearLevels(path.toString, chunk.display)
      }
      indexes.check(chunks)
      // What no array holds is not looked at: parquet-java reads it in parts, and trusts the lengths in it.
      chunks.filter(_.meta.getTotalSize <= OpenFile.MaxChunkBytes).foreach { chunk =>
        pagesOf(chunk, bytes.read(file.rangeOf(chunk)), judgedOnly, new Dictionaries).checkHeaders()
      }
    }
  }

  private def judgedOnly =
    PageRules(scope.settings.allowClearLevels, verifyChecksums = false, vectorized = false)

  private def pagesOf(chunk: Chunk, segment: Segment, rules: PageRules, dictionaries: Dictionaries) =
    new ChunkPages(
      chunk,
      file.modules(chunk, counters),
      codecs.of(chunk.meta.getCodec),
      new AllPages(segment),
      None,
      rules,
      new PageMemory,
      dictionaries,
      path.toString
    )

  private def rowGroup(
      index: Int,
      columns: Seq[Seq[String]],
      filter: Option[FilterPredicate],
      rules: PageRules
  ): Option[PagedRowGroup] = {
    val opened = file.chunks(index, columns, counters)
    val useful = filter.filter(_ => opened.block.isDefined)
    val dictionaries = new Dictionaries
    if (file.rowCount(index) == 0 || useful.exists(canDrop(_, opened, dictionary(_, rules, dictionaries))))
      None
    else {
      val filtered =
        useful.filter(_ =>
          rules.vectorized && isSet(ParquetInputFormat.COLUMN_INDEX_FILTERING_ENABLED, otherwise = true)
        )
      val found = filtered.flatMap(predicate => indexes.read(opened.chunks, PredicateColumns.of(predicate)))
      val selected = for (predicate <- filtered; store <- found) yield rowsOf(index, predicate, store, opened)
      val some = selected.filter(_.count < file.rowCount(index))
      if (some.exists(_.isEmpty)) None
      else
        Some(
          new PagedRowGroup(
            file,
            bytes,
            codecs,
            opened.chunks,
            index,
            found,
            () => indexes.read(opened.chunks, Set.empty),
            some,
            rules,
            dictionaries,
            counters
          )
        )
    }
  }

  private def canDrop(
      predicate: FilterPredicate,
      opened: RowGroupChunks,
      dictionary: Chunk => DictionaryPage
  ): Boolean = {
    val columns = opened.chunks.map(_.meta).asJava
    def byStatistics = isSet(ParquetInputFormat.STATS_FILTERING_ENABLED, otherwise = true) &&
      StatisticsFilter.canDrop(predicate, columns)
    def byDictionaries = isSet(ParquetInputFormat.DICTIONARY_FILTERING_ENABLED, otherwise = true) &&
      DictionaryFilter.canDrop(predicate, columns, dictionaries(opened, dictionary))
    def byBloomFilters = isSet(ParquetInputFormat.BLOOM_FILTERING_ENABLED, otherwise = true) &&
      BloomFilterImpl.canDrop(predicate, columns, indexes.bloomFilters(opened.chunks, opened.block.get))
    byStatistics || (!PredicateColumns.comparesWithZero(predicate) && (byDictionaries || byBloomFilters))
  }

  private def dictionaries(opened: RowGroupChunks, dictionary: Chunk => DictionaryPage) =
    new DictionaryPageReadStore {
      override def readDictionaryPage(column: ColumnDescriptor): DictionaryPage =
        opened.chunks.find(_.descriptor == column).map(dictionary).orNull
    }

  private def dictionary(chunk: Chunk, rules: PageRules, kept: Dictionaries): DictionaryPage = {
    val length = chunk.meta.getFirstDataPageOffset - chunk.meta.getStartingPos
    if (length <= 0 || length > Limits.PageBytes) null
    else {
      val segment = bytes.read(Range(chunk.meta.getStartingPos, length.toInt))
      pagesOf(chunk, segment, rules.copy(vectorized = false), kept).readDictionaryPage()
    }
  }

  private def rowsOf(
      index: Int,
      predicate: FilterPredicate,
      store: RowGroupIndexes,
      opened: RowGroupChunks
  ): Rows =
    OpenFile.structure(path, "its page index") {
      val paths: Set[ColumnPath] = opened.chunks.map(_.meta.getPath).toSet
      Rows.of(
        ColumnIndexFilter.calculateRowRanges(
          FilterCompat.get(predicate),
          store,
          paths.asJava,
          file.rowCount(index)
        )
      )
    }

  override def close(): Unit = {
    bytes.close()
    codecs.close()
  }
}
