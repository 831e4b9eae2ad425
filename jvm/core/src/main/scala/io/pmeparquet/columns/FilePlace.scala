package io.pmeparquet.columns

import scala.util.matching.Regex

/**
 * Where a file is, or will be, in its table: the table's directory is that of the file without its trailing
 * `name=value` directories, so that writers and readers agree on it without a catalog.
 *
 * @param table path of the table's directory, without scheme and host
 * @param partitions the `name=value` directories between table and file, as they are spelled
 */
final case class FilePlace private (table: String, partitions: Seq[String]) {

  /** `country=DE/day=1`; empty for a table without partitions. */
  def partition: String = partitions.mkString("/")

  /**
   * The value of a partition column: its text in the directory's name.
   *
   * @return none if the file is in no partition by that column, or in several; `Some(None)` for null, which Spark also
   *   writes for an empty text
   */
  def value(column: String, caseSensitive: Boolean): Option[Option[String]] = {
    val named = partitions.filter { directory =>
      val name = FilePlace.unescaped(directory.takeWhile(_ != '='))
      if (caseSensitive) name == column else name.equalsIgnoreCase(column)
    }
    named match {
      case Seq(one) =>
        Some(Some(FilePlace.unescaped(one.substring(one.indexOf('=') + 1))).filter(_ != FilePlace.NullValue))
      case _ => None
    }
  }
}

object FilePlace {

  /** @param directory path of the file's directory, without scheme and host */
  def of(directory: String): FilePlace = {
    val segments = directory.stripSuffix("/").split("/", -1).toSeq
    val partitions = segments.reverse.takeWhile(_.contains('=')).reverse
    FilePlace(segments.dropRight(partitions.size).mkString("/"), partitions)
  }

  /** Spark writes characters that a directory name cannot have as `%XX`. */
  def unescaped(name: String): String =
    EscapedCharacter.replaceAllIn(
      name,
      found => Regex.quoteReplacement(Integer.parseInt(found.group(1), 16).toChar.toString)
    )

  private val EscapedCharacter = "%([0-9A-Fa-f]{2})".r

  /** Hive's and Spark's name of the partition of null. */
  private val NullValue = "__HIVE_DEFAULT_PARTITION__"
}
