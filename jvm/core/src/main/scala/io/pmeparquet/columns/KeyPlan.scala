package io.pmeparquet.columns

import io.pmeparquet.PmeErrors

/** The key of every leaf column of one schema. */
final case class KeyPlan(columns: Seq[(LeafColumn, ColumnProtection)])

object KeyPlan {

  /**
   * @param keys none: every column gets the footer key
   * @throws io.pmeparquet.PmeException
   *   `PME_UNKNOWN_COLUMN` if a name matches no column, or a column has no key with `unlistedColumns=error`;
   *   `PME_BAD_OPTION` if a column has two keys
   */
  def of(
      leaves: Seq[LeafColumn],
      keys: Option[ColumnKeys],
      unlisted: UnlistedColumns,
      caseSensitive: Boolean
  ): KeyPlan = {
    val draft = KeyDraft.of(leaves, keys, unlisted, caseSensitive)
    draft.refusals.headOption.foreach(refusal => throw refusal)
    KeyPlan(draft.columns.map(column => column.leaf -> column.protection.get))
  }

  /**
   * Fails if a pattern matches a partition column: its values are readable in directory names. A pattern without a wildcard
   * needs no such check, because files do not have partition columns.
   */
  def checkPartitions(columns: Seq[String], keys: Option[ColumnKeys], caseSensitive: Boolean): Unit =
    KeyDraft.ofPartitions(columns, keys, caseSensitive).headOption.foreach { case (entry, column) =>
      throw PmeErrors.partitionColumn(entry.pattern.text, column)
    }

  /** Fails if a pattern matches a column of the buckets: names of files have a hash of its values, which has no key. */
  def checkBuckets(columns: Seq[String], keys: Option[ColumnKeys], caseSensitive: Boolean): Unit =
    KeyDraft.ofPartitions(columns, keys, caseSensitive).headOption.foreach { case (entry, column) =>
      throw PmeErrors.bucketColumn(entry.pattern.text, column)
    }
}
