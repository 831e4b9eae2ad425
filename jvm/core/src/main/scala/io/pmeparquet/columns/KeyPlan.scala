package io.pmeparquet.columns

import io.pmeparquet.PmeErrors

/** Which key protects a leaf column. */
sealed trait ColumnProtection

object ColumnProtection {
  case object FooterKey extends ColumnProtection
  final case class ColumnKey(masterKeyId: String) extends ColumnProtection
  case object Plaintext extends ColumnProtection
}

/** What happens to columns that no key names: the values of option `unlistedColumns`. */
sealed abstract class UnlistedColumns(val optionValue: String) extends Serializable

object UnlistedColumns {
  case object UseFooterKey extends UnlistedColumns("footerKey")
  case object Plaintext extends UnlistedColumns("plaintext")
  case object Error extends UnlistedColumns("error")

  val all: Seq[UnlistedColumns] = Seq(UseFooterKey, Plaintext, Error)
}

/** The key of every leaf column of one schema. */
final case class KeyPlan(columns: Seq[(LeafColumn, ColumnProtection)])

object KeyPlan {

  /**
   * @param keys none: every column gets the footer key
   * @throws io.pmeparquet.PmeException
   *   `PME_UNKNOWN_COLUMN` where a name matches nothing or `unlistedColumns=error` finds a column without key,
   *   `PME_BAD_OPTION` where a column is given two keys
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
   * Fails where a pattern takes in a partition column: its values stand readable in the names of directories. A pattern
   * without wildcard needs no such check, since partition columns are none of the file's.
   */
  def checkPartitions(columns: Seq[String], keys: Option[ColumnKeys], caseSensitive: Boolean): Unit =
    KeyDraft.ofPartitions(columns, keys, caseSensitive).headOption.foreach { case (entry, column) =>
      throw PmeErrors.partitionColumn(entry.pattern.text, column)
    }
}
