package io.pmeparquet.parquet.summary

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DateLogicalTypeAnnotation,
  TimestampLogicalTypeAnnotation
}
import org.apache.parquet.schema.PrimitiveType

import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.file.{ColumnPages, OpenFile}
import io.pmeparquet.parquet.scope.ReadScope

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
    if (file.rowGroupCount == 0 || !file.columns.exists(_.path == path)) Map.empty
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
