package io.pmeparquet.columns

import java.util.regex.Pattern

/** One name within a column pattern; in backticks a `*` is a character like any other. */
final case class NamePattern(text: String, quoted: Boolean) {
  private[columns] def regex(caseSensitive: Boolean): Pattern = {
    val parts = if (quoted) Array(text) else text.split("\\*", -1)
    val flags = if (caseSensitive) 0 else Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE
    Pattern.compile(parts.map(Pattern.quote).mkString(".*"), flags | Pattern.DOTALL)
  }
}

/**
 * The name of a column in `columnKeys`: `ssn`, `address.street`, `` `odd.name` ``, `*_pii`. It covers every leaf column
 * at or below the place it names. `*` stands for any characters within one name.
 */
final case class ColumnPattern(text: String, names: Seq[NamePattern]) {

  /** Whether it names a top-level column itself. */
  def namesColumn(column: String, caseSensitive: Boolean): Boolean =
    names.size == 1 && names.head.regex(caseSensitive).matcher(column).matches()

  /** Whether a leaf column lies at or below the named place. */
  def covers(leaf: LeafColumn, caseSensitive: Boolean): Boolean = {
    val wanted = names.map(_.regex(caseSensitive))
    leaf.spellings.exists { path =>
      path.length >= wanted.length && wanted.zip(path).forall { case (regex, name) =>
        regex.matcher(name).matches()
      }
    }
  }
}

/**
 * A leaf column, as a user may spell it.
 *
 * @param path the column's path in the Parquet schema: `tags.list.element`
 * @param sparkPath the same as Spark names it: `tags.element`
 */
final case class LeafColumn(path: Seq[String], sparkPath: Seq[String]) {
  def spellings: Seq[Seq[String]] = if (path == sparkPath) Seq(path) else Seq(sparkPath, path)

  /** As messages show it, and as `columnKeys` reads it back. */
  def display: String = LeafColumn.shown(sparkPath)

  /** All that it lies in, and the column itself: `tags`, `tags.element`. */
  def places: Seq[String] = sparkPath.indices.map(last => LeafColumn.shown(sparkPath.take(last + 1)))
}

object LeafColumn {
  private val plainName = Pattern.compile("[\\p{L}\\p{N}_@#$-]+")

  private def shown(path: Seq[String]): String = path.map(quoted).mkString(".")

  def quoted(name: String): String =
    if (plainName.matcher(name).matches()) name else "`" + name.replace("`", "``") + "`"
}
