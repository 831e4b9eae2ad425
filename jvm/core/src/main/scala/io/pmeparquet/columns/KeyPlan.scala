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
  ): KeyPlan = keys match {
    case None => KeyPlan(leaves.map(_ -> ColumnProtection.FooterKey))
    case Some(columnKeys) =>
      columnKeys.entries.foreach { entry =>
        if (!leaves.exists(entry.pattern.covers(_, caseSensitive)))
          throw PmeErrors.unknownColumn(entry.pattern.text, leaves.map(_.display))
      }
      val named = leaves.map(leaf => leaf -> keyOf(leaf, columnKeys, caseSensitive))
      val without = named.collect { case (leaf, None) => leaf.display }
      if (without.nonEmpty && unlisted == UnlistedColumns.Error) throw PmeErrors.unlisted(without)
      val rest =
        if (unlisted == UnlistedColumns.Plaintext) ColumnProtection.Plaintext else ColumnProtection.FooterKey
      KeyPlan(named.map { case (leaf, key) => leaf -> key.map(ColumnProtection.ColumnKey).getOrElse(rest) })
  }

  /**
   * Fails where a pattern takes in a partition column: its values stand readable in the names of directories. A pattern
   * without wildcard needs no such check, since partition columns are none of the file's.
   */
  def checkPartitions(columns: Seq[String], keys: Option[ColumnKeys], caseSensitive: Boolean): Unit =
    for {
      entry <- keys.toSeq.flatMap(_.entries)
      column <- columns if entry.pattern.namesColumn(column, caseSensitive)
    } throw PmeErrors.partitionColumn(entry.pattern.text, column)

  private def keyOf(leaf: LeafColumn, keys: ColumnKeys, caseSensitive: Boolean): Option[String] = {
    val ids = keys.entries.filter(_.pattern.covers(leaf, caseSensitive)).map(_.masterKeyId).distinct
    ids match {
      case Seq() => None
      case Seq(one) => Some(one)
      case several => throw PmeErrors.twoKeys(leaf.display, several.head, several(1))
    }
  }
}
