package io.pmeparquet.parquet.file

import java.io.Closeable

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.page.{DictionaryPage, DictionaryPageReadStore}
import org.apache.parquet.column.statistics.Statistics
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

import io.pmeparquet.{PmeErrors, RecentValues}
import io.pmeparquet.columns.{ColumnProtection, FilePlace}
import io.pmeparquet.parquet.bytes.{FileVersion, Limits, ParquetFailures, Range, ReadCounters}
import io.pmeparquet.parquet.chunk._
import io.pmeparquet.parquet.schema.{PredicateColumns, SchemaColumns, WantedColumns}
import io.pmeparquet.parquet.scope.ReadScope

/**
 * One split of one file, row group by row group, for one task. The calls from here to a page's AES:
 * [[RowGroupReader.pages]], `ChunkPages`, `Modules`, `AesGcm`.
 *
 * @param counters the task's counters
 * @param seal what the table's snapshot says of its files; none if the table is not read by one
 */
final class SplitReader private[file] (
    scope: ReadScope,
    version: FileVersion,
    conf: Configuration,
    counters: ReadCounters,
    seal: Option[FileSeal]
) extends Closeable {

  /** Reads the file as it is now: one that was altered since it was listed is a different one, with an unknown footer. */
  def this(
      scope: ReadScope,
      path: Path,
      conf: Configuration,
      counters: ReadCounters,
      seal: Option[FileSeal]
  ) =
    this(scope, FileVersion.of(path, conf), conf, counters, seal)

  /** Uses the scope's counters. */
  def this(scope: ReadScope, path: Path, conf: Configuration, seal: Option[FileSeal] = None) =
    this(scope, path, conf, scope.counters, seal)

  def path: Path = version.path
  private val file = seal.fold(OpenFiles(scope, version, conf, counters)) {
    OpenFiles.asSealed(scope, version, conf, counters, _)
  }
  private val input = new FileInput(file, conf, counters)

  private var shown: FileMetaData = file.fileMetaData

  /** Schema, key-value metadata and writer. */
  def metadata: FileMetaData = shown

  /** What protects each leaf column: more than one entry for a column if row groups differ. */
  def protections: Seq[(Seq[String], ColumnProtection)] = file.protections

  /** Where it is in its table, with what its footer states of values that name keys. */
  def place: FilePlace = file.place

  /** The master key of the footer's key; none if the file is not encrypted. */
  def footerMasterKey: Option[String] = file.footerMasterKey

  /**
   * Those of some columns whose keys the KMS denies to this reader.
   *
   * @param wanted columns; the file need not have them all
   */
  def refused(wanted: MessageType): Seq[RefusedColumn] = file.refused(here(wanted), counters)

  /** The same for columns of the file, by their paths. */
  def refused(columns: Seq[Seq[String]]): Seq[RefusedColumn] = file.refused(columns, counters)

  /** Those of some columns of the file that have keys of their own in any row group. It uses no key. */
  def withOwnKey(columns: Seq[Seq[String]]): Seq[Seq[String]] = file.withOwnKey(columns)

  /** Reads the file from now on as if it did not have these columns. */
  def hide(columns: Seq[RefusedColumn]): Unit =
    show(SchemaColumns.without(shown.getSchema, columns.map(_.path)))

  /** The same for columns that no list or map is needed for: they are all that the schema loses. */
  def hideLeaves(columns: Seq[Seq[String]]): Unit =
    show(SchemaColumns.withoutLeaves(shown.getSchema, columns))

  private def show(schema: MessageType): Unit =
    shown = new FileMetaData(schema, shown.getKeyValueMetaData, shown.getCreatedBy)

  private def here(wanted: MessageType): Seq[Seq[String]] = {
    val present = pathsOf(shown.getSchema).toSet
    pathsOf(wanted).filter(present.contains)
  }

  private def pathsOf(schema: MessageType) = schema.getColumns.asScala.map(_.getPath.toSeq).toSeq

  /**
   * The length of a split in the file as it is now. Spark cuts splits by the length that a file had when it was listed;
   * if a longer file has replaced it since, the last split reaches to the new end.
   *
   * @param listed the length when listed; 0 if unknown
   * @throws io.pmeparquet.PmeException if other splits may have read the earlier file. If the options allow plaintext,
   *   the file may have been encrypted in place, which moves row groups
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
   * The row groups of a split that may hold rows for a filter. Finds each when the caller asks for it.
   *
   * @param requested the columns to read; the file need not have them all
   * @param filter the predicate for parquet-java's row group and page filters
   * @param vectorized whether Spark's vectorized decoders read the pages: they copy values, so the next page of a
   *   column may overwrite the last, and they can skip single rows. parquet-column's record assembly keeps values, and
   *   loses count if the last wanted row is the only one in its page; it gets all rows.
   */
  def rowGroups(
      start: Long,
      length: Long,
      requested: MessageType,
      filter: Option[FilterPredicate],
      vectorized: Boolean
  ): Iterator[RowGroupReader] = {
    val columns = here(requested)
    val rules = input.rules(scope, vectorized)
    // parquet-java's filters accept no negations, and treat a column that they are not given as one without values.
    val rowGroupFilter = filter
      .filter(PredicateColumns.of(_).forall(path => columns.contains(path.toArray.toSeq)))
      .map(LogicalInverseRewriter.rewrite)
      .map(new RowGroupFilter(input, _, rules, conf))
    file.rowGroups(start, length).iterator.flatMap(rowGroup(_, columns, rowGroupFilter, rules))
  }

  /**
   * Checks what a reader that trusts lengths would read in a split: the metadata of the wanted columns, their page
   * headers, indexes and filters. It opens no page.
   *
   * @throws io.pmeparquet.PmeException if the columns cannot be read, for any reason
   */
  def check(start: Long, length: Long, listed: Long, wanted: WantedColumns): Unit = {
    val here = file.rowGroups(start, length)
    // Another reader uses the split as it was cut.
    if (file.rowGroups(start, splitLength(start, length, listed)) != here)
      throw PmeErrors.changedSinceListed(path.toString)
    file.requireUnstated(scope.settings, "Spark's own reader (reader=spark)")
    val columns = wanted.in(file.schema).map(_.path)
    columns.find(file.namedByRead).foreach { column =>
      throw PmeErrors.keyOfAnotherReader(s"$path, column '${column.mkString(".")}'")
    }
    here.foreach { index =>
      val chunks = file.chunks(index, columns, counters).chunks.filter(_.meta.getValueCount > 0)
      if (!scope.settings.allowClearLevels) chunks.filter(_.mayHaveClearLevels).foreach { chunk =>
        throw PmeErrors.clearLevels(path.toString, chunk.display)
      }
      input.indexes.check(chunks)
      // Chunks longer than an array are not checked: parquet-java reads them in parts, and trusts the lengths in them.
      chunks.filter(_.meta.getTotalSize <= OpenFile.MaxChunkBytes).foreach(checkHeaders)
    }
  }

  /** The number of rows in each row group of a split. It opens no column. */
  def rowCounts(start: Long, length: Long): Seq[Long] = file.rowGroups(start, length).map(file.rowCount)

  /**
   * The statistics of one column in each row group of a split that has rows, as parquet-java trusts them.
   *
   * @throws io.pmeparquet.PmeException if the column's key is missing, refused or wrong
   */
  def statistics(start: Long, length: Long, column: String): Seq[Statistics[_]] =
    file.rowGroups(start, length).filter(file.rowCount(_) > 0).flatMap { rowGroup =>
      file.chunks(rowGroup, Seq(Seq(column)), counters).chunks.map(_.meta.getStatistics: Statistics[_])
    }

  private def checkHeaders(chunk: Chunk): Unit = {
    val pages = new AllPages(input.bytes.read(file.rangeOf(chunk)))
    new HeaderCheck(
      file.source(chunk, counters),
      input.codecOf(chunk),
      pages,
      scope.settings.allowClearLevels
    ).run()
  }

  private def rowGroup(
      index: Int,
      columns: Seq[Seq[String]],
      filter: Option[RowGroupFilter],
      rules: PageRules
  ): Option[RowGroupReader] = {
    val opened = file.chunks(index, columns, counters)
    val useful = filter.filter(_ => opened.block.isDefined)
    val dictionaries = new Dictionaries
    if (file.rowCount(index) == 0 || useful.exists(_.canDrop(opened, dictionaries))) None
    else {
      val found = useful.flatMap(_.indexesOf(opened))
      val selected = for (used <- useful; store <- found) yield used.rows(store, opened)
      val some = selected.filter(_.count < file.rowCount(index))
      if (some.exists(_.isEmpty)) None
      else Some(new RowGroupReader(input, opened, found, some, rules, dictionaries))
    }
  }

  override def close(): Unit = input.close()
}

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
      BloomFilterImpl.canDrop(predicate, columns, input.indexes.filters(opened.chunks, opened.block.get))
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

/**
 * Opens a file's footer, the metadata of the columns that a query wants, and their page headers, before Spark's own
 * reader does. A missing or wrong key, an unsafe page layout or an impossible length then fails with the names of file
 * and column, before the query begins. parquet-java allocates as much as a module's length claims, which nothing
 * authenticates.
 */
final class PreReadCheck(scope: ReadScope, columns: WantedColumns, seal: Option[FileSeal] = None) {
  private val passed =
    new RecentValues[(FileVersion, Long, Long, Long), Unit](
      PreReadCheck.MaxSplits,
      PreReadCheck.LifetimeMillis
    )

  /**
   * @param start where the split begins, in bytes from the start of the file
   * @param length length of the split in bytes
   * @param listed length of the file when Spark planned the splits; 0 if unknown
   * @throws io.pmeparquet.PmeException if the query cannot read this part of the file, for any reason
   */
  def check(path: Path, start: Long, length: Long, listed: Long, conf: Configuration): Unit = {
    val version = FileVersion.of(path, conf)
    passed.get((version, start, length, listed)) {
      val file = new SplitReader(scope, version, conf, scope.counters, seal)
      try file.check(start, length, listed, columns)
      finally file.close()
    }
  }
}

private object PreReadCheck {
  val MaxSplits = 1000

  /** As long as a query runs: parquet-java authenticates again whatever it reads. */
  val LifetimeMillis: Long = Long.MaxValue
}
