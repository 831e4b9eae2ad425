package io.pmeparquet.columns

import java.util.regex.Pattern
import java.util.Locale

/** One name within a column pattern; in backticks `*` is an ordinary character. */
final case class NamePattern(text: String, quoted: Boolean) {

  /** Whether it matches a name. */
  private[columns] def matches(caseSensitive: Boolean): String => Boolean = {
    val asTyped = regex(text, if (caseSensitive) 0 else Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE)
    if (caseSensitive) asTyped.matcher(_).matches()
    else {
      // Spark matches columns by lower-case name, which may be longer: that of 'İ' has two characters.
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
 * A column name in `columnKeys`: `ssn`, `address.street`, `` `odd.name` ``, `*_pii`. It covers every leaf column at or
 * below that name. `*` matches any characters within one name.
 */
final case class ColumnPattern(text: String, names: Seq[NamePattern]) {

  /** Whether it matches a top-level column. */
  def namesColumn(column: String, caseSensitive: Boolean): Boolean =
    names.size == 1 && names.head.matches(caseSensitive)(column)

  /** Whether a leaf column is at or below its name. */
  def covers(leaf: LeafColumn, caseSensitive: Boolean): Boolean = covering(caseSensitive)(leaf)

  /** The same for many columns. */
  def covering(caseSensitive: Boolean): LeafColumn => Boolean = {
    val wanted = names.map(_.matches(caseSensitive))
    _.spellings.exists { path =>
      path.length >= wanted.length && wanted.zip(path).forall { case (isMeant, name) => isMeant(name) }
    }
  }
}
