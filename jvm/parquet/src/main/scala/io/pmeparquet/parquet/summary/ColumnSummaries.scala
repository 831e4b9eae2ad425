package io.pmeparquet.parquet.summary

import scala.util.control.NonFatal

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.io.api.Binary

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.parquet.chunk.RowGroupChunks
import io.pmeparquet.parquet.file.{ColumnPages, OpenFile}

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
        bits <- OwnFilters.of(withRows.map(_.chunks.head), pages.bloomFilters, fpp)
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
    if (content != null && content.length > SummaryClasses.MaxBytes) throw tooLong(kind, content.length)
    Option(content).map(ColumnSummary.OfClass(_))
  }

  private def tooLong(kind: SummaryKind.OfClass, bytes: Int): PmeException =
    PmeErrors.badSummaryClass(
      kind.className,
      s"its summary of ${file.version.path} has $bytes bytes, and at most ${SummaryClasses.MaxBytes} are accepted"
    )
}
