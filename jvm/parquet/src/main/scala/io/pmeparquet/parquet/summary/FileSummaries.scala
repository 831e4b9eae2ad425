package io.pmeparquet.parquet.summary

import scala.util.control.NonFatal
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DateLogicalTypeAnnotation,
  DecimalLogicalTypeAnnotation,
  TimestampLogicalTypeAnnotation
}
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.BINARY
import org.apache.parquet.VersionParser

import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.chunk.{Chunk, RowGroupChunks}
import io.pmeparquet.parquet.file.{ColumnPages, OpenFile}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeErrors

/** Makes summaries of a file's columns, each column once for all kinds. */
private[parquet] object FileSummaries {

  /**
   * Ranges come from statistics, Bloom filters from those of the file if it has them. All else reads the column.
   *
   * @param scope in which the file was opened
   * @return for each wanted summary, in this order: the summary; none if the file lacks the column, or the kind has none
   *   for its values
   * @throws io.pmeparquet.PmeException if the metadata or a page of a column does not open, or a class of the user's
   *   fails
   */
  def of(
      scope: ReadScope,
      file: OpenFile,
      wanted: Seq[WantedSummary],
      counters: ReadCounters,
      conf: Configuration
  ): List[Option[FoundSummary]] = {
    val pages = new ColumnPages(scope, file, conf, counters)
    try {
      val found = wanted
        .map(_.column)
        .distinct
        .map { path =>
          path -> ofColumn(file, path, wanted.filter(_.column == path).map(_.kind).distinct, pages, counters)
        }
        .toMap
      wanted.map(one => found(one.column).get(one.kind)).toList
    } finally pages.close()
  }

  private def ofColumn(
      file: OpenFile,
      path: Seq[String],
      kinds: Seq[SummaryKind],
      pages: ColumnPages,
      counters: ReadCounters
  ): Map[SummaryKind, FoundSummary] =
    if (file.rowGroupCount == 0 || !file.leaves.exists(_.path == path)) Map.empty
    else {
      val groups = (0 until file.rowGroupCount).map(file.chunks(_, Seq(path), counters))
      val column = groups.head.chunks.head.descriptor
      val leaf = column.getPrimitiveType
      if (column.getMaxRepetitionLevel > 0 || !isComparable(file, leaf)) Map.empty
      else
        new ColumnSummaries(file, groups, pages)
          .of(kinds)
          .map { case (kind, summary) => kind -> FoundSummary(Leaves.textOf(leaf), summary) }
    }

  /** Whether a predicate compares values of this column as the file holds them. */
  private def isComparable(file: OpenFile, leaf: PrimitiveType) =
    Leaves.hasOrder(leaf) && !(isOfOldCalendar(file) && isDateOrTime(leaf))

  /** Whether Spark wrote dates and times in the calendar of Spark 2, which readers convert. */
  private def isOfOldCalendar(file: OpenFile) = {
    val entries = file.fileMetaData.getKeyValueMetaData
    entries.containsKey("org.apache.spark.legacyDateTime") ||
    Option(entries.get("org.apache.spark.version")).exists(version =>
      version.startsWith("2.") || version.startsWith("1.")
    )
  }

  private def isDateOrTime(leaf: PrimitiveType) = leaf.getLogicalTypeAnnotation match {
    case _: DateLogicalTypeAnnotation | _: TimestampLogicalTypeAnnotation => true
    case _ => false
  }
}

/**
 * Makes the summaries of one column of a file.
 *
 * @param groups the column's chunk in each row group
 */
private[summary] final class ColumnSummaries(
    file: OpenFile,
    groups: Seq[RowGroupChunks],
    pages: ColumnPages
) {
  private val withRows = groups.filter(_.chunks.head.rowCount > 0)
  private val chunks = groups.map(_.chunks.head)
  private val leaf = chunks.head.descriptor.getPrimitiveType

  def of(kinds: Seq[SummaryKind]): Map[SummaryKind, ColumnSummary] = {
    val range = kinds.collect { case SummaryKind.MinMax =>
      SummaryKind.MinMax -> ChunkRange.of(chunks, file.fileMetaData.getCreatedBy)
    }
    // What reads the column needs no filters of the file's own.
    val (scanned, blooms) =
      kinds.filterNot(_ == SummaryKind.MinMax).partition(!_.isInstanceOf[SummaryKind.Bloom])
    val taken = if (scanned.isEmpty) blooms.flatMap(kind => own(kind).map(kind -> Option(_))) else Nil
    val found: Seq[(SummaryKind, Option[ColumnSummary])] =
      range ++ taken ++ decoded(scanned ++ blooms.filterNot(taken.map(_._1).contains))
    found.collect { case (kind, Some(summary)) => kind -> summary }.toMap
  }

  private def own(kind: SummaryKind): Option[ColumnSummary] = kind match {
    case SummaryKind.Bloom(fpp, None) if !Leaves.isFloating(leaf) && Leaves.isHashed(leaf) =>
      for {
        nulls <- statedNulls
        bits <- OwnFilters.of(withRows.map(_.chunks.head), pages.indexes, fpp)
        if SplitBlocks.falsePositives(bits) <= SplitBlocks.MostFalsePositives
      } yield ColumnSummary.Bloom(bits, nulls)
    case _ => None
  }

  /** The number of nulls that statistics tell; none if one of them does not. */
  private def statedNulls: Option[Long] =
    if (chunks.head.descriptor.getMaxDefinitionLevel == 0) Some(0L)
    else {
      val statistics = chunks.map(_.meta.getStatistics.asInstanceOf[Statistics[Integer]])
      if (statistics.forall(one => one != null && one.isNumNullsSet)) Some(statistics.map(_.getNumNulls).sum)
      else None
    }

  private def collectorOf(kind: SummaryKind): Option[Collector] = kind match {
    case SummaryKind.ValueList(max) if Leaves.hasOneForm(leaf) => Some(new ListCollector(max))
    case SummaryKind.Bloom(fpp, ndv) if Leaves.isHashed(leaf) => Some(new BloomCollector(fpp, ndv))
    case _ => None
  }

  private def decoded(kinds: Seq[SummaryKind]): Seq[(SummaryKind, Option[ColumnSummary])] = {
    val collectors = kinds.flatMap(kind => collectorOf(kind).map(kind -> _))
    val classes = kinds.collect { case kind: SummaryKind.OfClass => kind }
    val values = new ColumnValues(file, withRows, pages)
    val open = collectors.map(_._2)
    def collect(value: AnyRef): Unit = open.foreach(_.add(value))
    // The first class takes its values as they are collected, and each further one reads the column again.
    val content = classes.zipWithIndex.map {
      case (kind, 0) => kind -> contentOf(kind, values, collect)
      case (kind, _) => kind -> contentOf(kind, new ColumnValues(file, withRows, pages), _ => ())
    }
    while (!open.forall(_.gaveUp) && values.hasNext) collect(values.next())
    content ++ collectors.map { case (kind, collector) =>
      kind -> (if (collector.gaveUp) None else collector.result(values.nulls))
    }
  }

  private def contentOf(
      kind: SummaryKind.OfClass,
      values: ColumnValues,
      collect: AnyRef => Unit
  ): Option[ColumnSummary] = {
    val instance = SummaryClasses.load(kind)
    val handed = new java.util.Iterator[Object] {
      override def hasNext: Boolean = values.hasNext
      override def next(): Object = {
        val value = values.next()
        collect(value)
        value match {
          case binary: Binary => binary.getBytes
          case other => other
        }
      }
    }
    val content =
      try instance.summarize(handed)
      catch {
        case NonFatal(failed) =>
          values.requireRead()
          throw PmeErrors.summaryClassFailed(
            kind.className,
            s"the seal of ${file.version.path}",
            failed.toString,
            failed
          )
      }
    values.requireRead()
    if (content != null && content.length > SummaryClasses.MaxBytes)
      throw PmeErrors.badSummaryClass(
        kind.className,
        s"its summary of ${file.version.path} has ${content.length} bytes, and at most ${SummaryClasses.MaxBytes} are accepted"
      )
    Option(content).map(ColumnSummary.OfClass(_))
  }
}

/** The range of a column's values in a file, from the statistics of its chunks. */
private[summary] object ChunkRange {

  /** Longer bounds would make the index of a large table too large. */
  private val MostBoundBytes = 1024

  /**
   * @param chunks of the column, in each row group
   * @param writer of the file (`created_by`)
   * @return none if a row group does not count its nulls; without bounds if a row group has no statistics that bound all
   *   its values
   */
  def of(chunks: Seq[Chunk], writer: String): Option[ColumnSummary.Range] =
    if (!chunks.forall(countsNulls)) None
    else {
      val leaf = chunks.head.descriptor.getPrimitiveType
      val all = merged(chunks.map(_.meta.getStatistics))
      val bounds =
        if (chunks.forall(isBounded) && boundsNaN(leaf, writer) && all.hasNonNullValue)
          shortened(leaf, all.getMinBytes, all.getMaxBytes)
        else None
      Some(ColumnSummary.Range(bounds, all.getNumNulls))
    }

  /** Bounds that are short enough: the beginning of a text is below it, and what follows the beginning is above. */
  private[summary] def shortened(
      leaf: PrimitiveType,
      min: Array[Byte],
      max: Array[Byte]
  ): Option[(Array[Byte], Array[Byte])] =
    if (min.length.max(max.length) <= MostBoundBytes) Some(min -> max)
    else if (!isOrderedByBytes(leaf)) None
    else if (max.length <= MostBoundBytes) Some(min.take(MostBoundBytes) -> max)
    else successor(max.take(MostBoundBytes)).map(min.take(MostBoundBytes) -> _)

  /** The least value after all that begin with these bytes. */
  private def successor(beginning: Array[Byte]): Option[Array[Byte]] = {
    val last = beginning.lastIndexWhere(_ != 0xff.toByte)
    if (last < 0) None
    else {
      val next = beginning.take(last + 1)
      next(last) = (next(last) + 1).toByte
      Some(next)
    }
  }

  private def isOrderedByBytes(leaf: PrimitiveType) = leaf.getPrimitiveTypeName == BINARY &&
    !leaf.getLogicalTypeAnnotation.isInstanceOf[DecimalLogicalTypeAnnotation]

  /**
   * Whether the bounds of a column that may hold NaN bound it, too. SQL has NaN for the greatest value. parquet-java 1.10
   * to 1.17 took it for the maximum, and has no bounds then. Other writers leave it out, and older versions did so if it
   * came after another value.
   */
  private[summary] def boundsNaN(leaf: PrimitiveType, writer: String): Boolean = !Leaves.isFloating(leaf) ||
    Try(VersionParser.parse(writer)).toOption.exists { version =>
      version.application == "parquet-mr" && version.hasSemanticVersion && {
        val semantic = version.getSemanticVersion
        semantic.major == 1 && semantic.minor >= 10 && semantic.minor <= 17
      }
    }

  // The element type of statistics is that of their column, which is the same in all row groups.
  private def merged(all: Seq[AnyRef]): Statistics[Integer] = {
    val statistics = all.map(_.asInstanceOf[Statistics[Integer]])
    val result = statistics.head.copy().asInstanceOf[Statistics[Integer]]
    statistics.tail.foreach(result.mergeStatistics(_))
    result
  }

  private def countsNulls(chunk: Chunk): Boolean = {
    val statistics = statisticsOf(chunk)
    statistics != null && !statistics.isEmpty && statistics.isNumNullsSet
  }

  /** Whether statistics that count nulls say of every other value of a chunk that it is between two bounds. */
  private def isBounded(chunk: Chunk): Boolean = {
    val statistics = statisticsOf(chunk)
    statistics.hasNonNullValue || statistics.getNumNulls == chunk.meta.getValueCount
  }

  private def statisticsOf(chunk: Chunk) = chunk.meta.getStatistics.asInstanceOf[Statistics[Integer]]
}
