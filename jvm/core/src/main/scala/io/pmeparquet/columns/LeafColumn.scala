package io.pmeparquet.columns

import java.util.regex.Pattern

/**
 * A leaf column, with the names that users may give it.
 *
 * @param path the column's path in the Parquet schema: `tags.list.element`
 * @param sparkPath the same as Spark names it: `tags.element`
 * @param asMap the name that Spark gives it if the schema of the read declares a map: Spark trusts that schema, whatever
 *   the file calls something with the structure of a map; none without such a structure
 */
final case class LeafColumn(path: Seq[String], sparkPath: Seq[String], asMap: Option[Seq[String]] = None) {
  def spellings: Seq[Seq[String]] = (Seq(sparkPath, path) ++ asMap).distinct

  /** Its name in messages, which `columnKeys` accepts. */
  def display: String = LeafColumn.shown(sparkPath)

  /** The columns around it, and the column itself: `tags`, `tags.element`. */
  def places: Seq[String] = sparkPath.indices.map(last => LeafColumn.shown(sparkPath.take(last + 1)))
}

object LeafColumn {
  private val plainName = Pattern.compile("[\\p{L}\\p{N}_@#$-]+")

  private def shown(path: Seq[String]): String = path.map(quoted).mkString(".")

  def quoted(name: String): String =
    if (plainName.matcher(name).matches()) name else "`" + name.replace("`", "``") + "`"
}
