package io.pmeparquet.spark.admin

import io.pmeparquet.parquet.verify.{Finding, Unprotected}
import io.pmeparquet.PmeErrors

/**
 * The parts of a table without modules that a verification could open. A writer may leave columns in plaintext. A
 * column that other files encrypt is a finding. ''Driver only.''
 *
 * @param plaintextFiles how many plaintext files there are, which the options allow
 * @param files for each column, in how many encrypted files it is readable
 */
final class ReadableColumns private (
    val plaintextFiles: Long,
    files: Map[String, Long],
    private[admin] val findings: Seq[Finding]
) {

  /** For Python. */
  def columns: java.util.Map[String, java.lang.Long] = {
    val sorted = new java.util.LinkedHashMap[String, java.lang.Long]
    files.toSeq.sorted.foreach { case (column, count) => sorted.put(column, count) }
    sorted
  }
}

private[admin] object ReadableColumns {

  /** @param looked what each file has without protection, by its path */
  def of(looked: Seq[(String, Unprotected)], caseSensitive: Boolean): ReadableColumns = {
    val names = looked.flatMap { case (_, one) => (one.readable ++ one.encrypted).toSeq.sorted }
    val spelling = new Spellings(names, caseSensitive)
    val readable = filesBy(looked)(_.readable.map(spelling(_)))
    val encrypted = filesBy(looked)(_.encrypted.map(spelling(_)))
    new ReadableColumns(
      looked.map(_._2.files).sum,
      readable.map { case (column, files) => column -> files.size.toLong },
      for {
        (column, files) <- readable.toSeq.sortBy(_._1)
        protectedIn <- encrypted.get(column).toSeq
      } yield {
        val failed = PmeErrors.readableColumn(files, column, protectedIn.size)
        Finding(
          files.head,
          column = Some(column),
          condition = failed.condition.name,
          message = failed.problem
        )
      }
    )
  }

  private def filesBy(looked: Seq[(String, Unprotected)])(
      columns: Unprotected => Set[String]
  ): Map[String, Seq[String]] =
    looked
      .flatMap { case (file, one) => columns(one).toSeq.map(_ -> file) }
      .groupBy(_._1)
      .map { case (column, files) => column -> files.map(_._2) }
}
