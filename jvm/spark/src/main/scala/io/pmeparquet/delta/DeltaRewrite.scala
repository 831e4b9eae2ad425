package io.pmeparquet.delta

import java.util.UUID

import scala.util.control.NonFatal

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * Rewrites the files of a Delta table, and compares the rows before and after each commit of its own.
 *
 * A commit is found by its `userMetadata`. A mark below the table says that rows are still to be compared, so if a run is
 * killed, the next one compares them. ''Driver only.''
 */
private[delta] final class DeltaRewrite(table: RewritableTable) {
  import DeltaRewrite._

  /**
   * Compares the rows of commits of runs that died before they did.
   *
   * @return the number of rows; none if there is no such commit
   * @throws io.pmeparquet.PmeException if the rows are not the same, or cannot be compared anymore
   */
  def finish(): Option[Long] = table.marks.sorted
    .collect { case name @ Mark(after, text) =>
      val rows =
        try compared(text, after.toLong)
        catch {
          case failed: PmeException => throw failed
          case NonFatal(failed) => throw PmeErrors.deltaInterrupted(table.path, table.placeOf(name), failed)
        }
      table.unmark(name)
      rows
    }
    .flatten
    .lastOption

  /**
   * Rewrites all live files in one commit, and compares rows.
   *
   * @param order a column to order rows by; none for a table with liquid clustering
   * @return none if a commit of another session came first
   */
  def rewrite(order: Option[String]): Option[Rewritten] = {
    val before = table.newest
    val text = s"pme_${UUID.randomUUID.toString.replace("-", "")}"
    val mark = s"$before-$text"
    table.mark(mark)
    val replaced =
      try Some(table.rewrite(order, text))
      catch { case NonFatal(failed) if isConflict(failed) => None }
    val done = replaced.map { case (removed, added) =>
      // If there is no file, Delta makes no commit.
      val rows =
        if (removed + added == 0) None
        else Some(compared(text, before).getOrElse(throw PmeErrors.deltaNotCompared(table.path)))
      Rewritten(removed, added, rows)
    }
    table.unmark(mark)
    done
  }

  private def compared(text: String, after: Long): Option[Long] = table
    .commits(text, after)
    .map { version =>
      val (before, now) = (table.content(version - 1), table.content(version))
      if (before != now) {
        // It is reported once.
        table.unmark(s"$after-$text")
        throw PmeErrors.deltaOtherRows(table.path, table.name, version, version - 1)
      }
      now._1
    }
    .lastOption
}

private[delta] object DeltaRewrite {
  private val Mark = """(\d{1,18})-(pme_[0-9a-f]{32})""".r

  /**
   * @param removed number of files that were replaced
   * @param added number of files that replaced them
   * @param rows number of rows that were compared before and after; none if there was no file
   */
  final case class Rewritten(removed: Long, added: Long, rows: Option[Long])

  /** Whether another commit came first. Delta tries again by itself where it can. */
  private def isConflict(failed: Throwable) = Iterator
    .iterate(failed)(_.getCause)
    .takeWhile(_ != null)
    .map(_.getClass.getSimpleName)
    .exists(name => name.startsWith("Concurrent") || name == "MetadataChangedException")
}

/** What a rewrite needs of a table. */
private[delta] trait RewritableTable {

  /** The directory, with its file system. */
  def path: String

  /** The table in SQL. */
  def name: String = s"delta.`${path.replace("`", "``")}`"

  def newest: Long

  /**
   * Rewrites all live files in one commit, which changes no row.
   *
   * @param text the end of the commit's `userMetadata`
   * @return the numbers of files that were replaced, and that replaced them
   */
  def rewrite(order: Option[String], text: String): (Long, Long)

  /**
   * The versions after one whose `userMetadata` ends with a text.
   *
   * @throws java.util.NoSuchElementException if the log does not have all commits after that version anymore
   */
  def commits(text: String, after: Long): Seq[Long]

  /** The number of rows of a version, and a sum over their hashes, which does not depend on their order. */
  def content(version: Long): (Long, String)

  /** The names of marks below the table, which Delta and VACUUM do not look at. */
  def marks: Seq[String]
  def placeOf(mark: String): String
  def mark(name: String): Unit
  def unmark(name: String): Unit
}
