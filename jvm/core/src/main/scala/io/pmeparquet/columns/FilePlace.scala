package io.pmeparquet.columns

import scala.util.matching.Regex

/**
 * Where a file is, or will be, in its table: the table's directory is that of the file without its trailing
 * `name=value` directories, so that writers and readers agree on it without a catalog.
 *
 * @param table path of the table's directory, without scheme and host
 * @param partitions the `name=value` directories between table and file, as they are spelled
 * @param stated what the file itself states of columns that are no partition columns
 */
final case class FilePlace private (
    table: String,
    partitions: Seq[String],
    stated: KeyValues
) {

  /** The place of a file that states values in its footer. */
  def stating(values: KeyValues): FilePlace = copy(stated = values)

  /** `country=DE/day=1`; empty for a table without partitions. */
  def partition: String = partitions.mkString("/")

  /** The same with what the file states, for messages. */
  def display: String =
    (partitions ++ stated.texts.toSeq.sorted.map { case (name, text) => s"$name=$text" }).mkString("/")

  /**
   * The value of a column: of a partition column its text in the directory's name, of another one what the file states.
   *
   * @return none if the file is in no partition by that column, or in several, and does not state it; and if it is in one
   *   and states it, too; `Some(None)` for null, which Spark also writes for an empty text
   */
  def value(column: String, caseSensitive: Boolean): Option[Option[String]] = {
    val named = directories(column, caseSensitive)
    if (named.nonEmpty && stated.mentions(column, caseSensitive)) None
    else
      named match {
        case Seq(one) =>
          Some(
            Some(FilePlace.unescaped(one.substring(one.indexOf('=') + 1))).filter(_ != FilePlace.NullValue)
          )
        case Seq() => stated.value(column, caseSensitive).map(Some(_))
        case _ => None
      }
  }

  /** The number of the bucket of a column that is no partition column, if the file states it without the value. */
  def bucket(column: String, buckets: Int, caseSensitive: Boolean): Option[String] =
    if (directories(column, caseSensitive).isEmpty) stated.bucket(column, buckets, caseSensitive) else None

  /** Whether a directory has a value of the column. */
  def isPartitionedBy(column: String, caseSensitive: Boolean): Boolean =
    directories(column, caseSensitive).nonEmpty

  private def directories(column: String, caseSensitive: Boolean) = partitions.filter { directory =>
    ColumnNames.isSame(FilePlace.unescaped(directory.takeWhile(_ != '=')), column, caseSensitive)
  }
}

object FilePlace {

  /** @param directory path of the file's directory, without scheme and host */
  def of(directory: String): FilePlace = {
    val segments = directory.stripSuffix("/").split("/", -1).toSeq
    val partitions = segments.reverse.takeWhile(_.contains('=')).reverse
    FilePlace(segments.dropRight(partitions.size).mkString("/"), partitions, KeyValues.none)
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
