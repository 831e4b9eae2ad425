package io.pmeparquet.columns

import java.util.regex.Pattern
import java.util.Locale

/** One name within a column pattern; in backticks a `*` is a character like any other. */
final case class NamePattern(text: String, quoted: Boolean) {

  /** Whether a name is one that is meant. */
  private[columns] def matches(caseSensitive: Boolean): String => Boolean = {
    val asTyped = regex(text, if (caseSensitive) 0 else Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE)
    if (caseSensitive) asTyped.matcher(_).matches()
    else {
      // Spark reads a file's column by its name in lower case, which may be longer: that of 'İ' is two characters.
      val lower = regex(text.toLowerCase(Locale.ROOT), 0)
      name => asTyped.matcher(name).matches() || lower.matcher(name.toLowerCase(Locale.ROOT)).matches()
    }
  }

  private def regex(of: String, flags: Int): Pattern = {
    val parts = if (quoted) Array(of) else of.split("\\*", -1)
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
    names.size == 1 && names.head.matches(caseSensitive)(column)

  /** Whether a leaf column lies at or below the named place. */
  def covers(leaf: LeafColumn, caseSensitive: Boolean): Boolean = {
    val wanted = names.map(_.matches(caseSensitive))
    leaf.spellings.exists { path =>
      path.length >= wanted.length && wanted.zip(path).forall { case (isMeant, name) => isMeant(name) }
    }
  }
}

/**
 * A leaf column, as a user may spell it.
 *
 * @param path the column's path in the Parquet schema: `tags.list.element`
 * @param sparkPath the same as Spark names it: `tags.element`
 * @param asMap the same as Spark would name it to whom a schema says that there are maps: of a map it believes its own
 *   schema, whatever the file calls what looks like one; none where nothing does
 */
final case class LeafColumn(path: Seq[String], sparkPath: Seq[String], asMap: Option[Seq[String]] = None) {
  def spellings: Seq[Seq[String]] = (Seq(sparkPath, path) ++ asMap).distinct

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
