package io.pmeparquet.spark.snapshots

import java.util.Locale

import org.apache.spark.sql.catalyst.util.quoteIfNeeded

/**
 * How many files of one table a scan reads, of those that are left after partitions were pruned. ''Driver only.''
 *
 * @param version of the snapshot; none if the table is not sealed
 * @param bytes of all these files
 * @param skippedBy the indexes that proved for some of them that no row can match. A file counts for each index that its
 *   proof needed.
 */
private[spark] final case class ScannedFiles(
    path: String,
    version: Option[Long],
    files: Long,
    filesRead: Long,
    bytes: Long,
    bytesRead: Long,
    skippedBy: Seq[SkippedBy]
)

/** @param kind of the index, as manifests name it */
private[spark] final case class SkippedBy(kind: String, column: Seq[String], files: Long) {
  def text: String = s"$kind(${column.map(quoteIfNeeded).mkString(".")})"
}

private[spark] object ScannedFiles {

  /** Spark cuts what it prints of a scan at 100 characters. */
  private val MostIndexes = 3

  /**
   * For `EXPLAIN`, as "12 of 4,000 files, by minMax(id)".
   *
   * @param atMost whether the scan can leave out more when it runs
   */
  def text(tables: Seq[ScannedFiles], atMost: Boolean): String = {
    val start = if (atMost) "at most " else ""
    val files = tables.map(_.files).sum
    s"$start${grouped(tables.map(_.filesRead).sum)} of ${grouped(files)} ${if (files == 1) "file" else "files"}" +
      by(tables.flatMap(_.skippedBy))
  }

  private def by(skipped: Seq[SkippedBy]) = {
    val names = skipped
      .groupBy(_.text)
      .toSeq
      .map { case (name, of) => name -> of.map(_.files).sum }
      .sortBy { case (name, files) => (-files, name) }
      .map(_._1)
    val more = names.size - MostIndexes
    if (names.isEmpty) ""
    else names.take(MostIndexes).mkString(", by ", ", ", "") + (if (more > 0) s" and $more more" else "")
  }

  private def grouped(number: Long) = String.format(Locale.ROOT, "%,d", Long.box(number))
}

/** A V2 scan that knows how many files it reads. */
private[spark] trait CountsFiles {
  def scannedFiles: Seq[ScannedFiles]
}
