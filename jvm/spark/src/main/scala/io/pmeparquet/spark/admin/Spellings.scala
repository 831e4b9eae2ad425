package io.pmeparquet.spark.admin

import java.util.Locale

import io.pmeparquet.parquet.inspect.FileUse

/**
 * Treats columns of several files whose names differ only in letter case as one column, like Spark and `columnKeys`,
 * and names it as the first file does. Otherwise a file with a readable `SALARY` would go unnoticed among files with an
 * encrypted `salary`. With `spark.sql.caseSensitive` each spelling is a column. ''Driver only.''
 *
 * @param names in the order of files
 */
private[admin] final class Spellings(names: Iterable[String], caseSensitive: Boolean) {
  private val first: Map[String, String] =
    if (caseSensitive) Map.empty
    else names.toSeq.reverseIterator.map(name => folded(name) -> name).toMap

  def apply(name: String): String = first.getOrElse(folded(name), name)

  /** The same file, with columns in these spellings. */
  def in(file: FileUse): FileUse = file.copy(
    uses = file.uses.map { use =>
      use.copy(columns = use.columns.map(apply).distinct, unreadable = use.unreadable.map(apply).distinct)
    },
    columns = file.columns.map(_.map(one => one.copy(column = apply(one.column))).distinct)
  )

  private def folded(name: String) = name.toLowerCase(Locale.ROOT)
}

private[admin] object Spellings {

  /** @param files in their order */
  def of(files: Iterable[FileUse], caseSensitive: Boolean): Spellings = {
    val names = files.flatMap { file =>
      file.columns.toSeq.flatten.map(_.column) ++ file.uses.flatMap(use => use.columns ++ use.unreadable)
    }
    new Spellings(names, caseSensitive)
  }
}
