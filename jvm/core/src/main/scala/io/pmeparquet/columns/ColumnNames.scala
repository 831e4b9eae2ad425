package io.pmeparquet.columns

/** Names of top-level columns. */
object ColumnNames {

  /**
   * Whether two names are of one column, as Spark compares them.
   *
   * @param caseSensitive `spark.sql.caseSensitive`
   */
  def isSame(one: String, other: String, caseSensitive: Boolean): Boolean =
    if (caseSensitive) one == other else one.equalsIgnoreCase(other)
}
