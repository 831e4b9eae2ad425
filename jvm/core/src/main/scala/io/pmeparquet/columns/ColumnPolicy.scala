package io.pmeparquet.columns

import io.pmeparquet.columns.ColumnPolicy.Asked
import io.pmeparquet.columns.ColumnProtection.{ColumnKey, FooterKey, Plaintext}
import io.pmeparquet.PmeErrors

/**
 * How the columns of each file have to be protected, for a reader that takes nothing else. Options of the read say it
 * ([[KeyBinding]]); what a table keeps of itself may say it instead. ''Crosses the wire''. Policies that ask for the same
 * are equal.
 */
trait ColumnPolicy extends Serializable {

  /** What is asked of the footer's key; none: nothing. */
  def footer: Option[Asked]

  /**
   * What is asked of each leaf column of a file.
   *
   * @throws io.pmeparquet.PmeException where the policy contradicts itself over these columns
   */
  def of(leaves: Seq[LeafColumn]): Seq[Asked]
}

object ColumnPolicy {

  /**
   * @param accepted what meets it, the usual first; none: nothing does
   * @param by who asks, as users know it
   */
  final case class Asked(accepted: Seq[ColumnProtection], by: String) {

    /** @param footerKey the master key that the footer's key is under */
    def isMetBy(found: ColumnProtection, footerKey: Option[String]): Boolean = accepted.exists { wanted =>
      wanted == found || ((wanted, found) match {
        // The same master key opens it either way.
        case (ColumnKey(id), FooterKey) => footerKey.contains(id)
        case (FooterKey, ColumnKey(id)) => footerKey.contains(id)
        case _ => false
      })
    }
  }

  object Asked {
    def apply(one: ColumnProtection, by: String): Asked = Asked(Seq(one), by)
  }
}

/**
 * Columns bound to their keys by `columnKeys`, `unlistedColumns` and `footerKey` of a read, which mean there what they mean
 * to a write. A pattern may match nothing: a table's files need not all have all of its columns.
 *
 * @param footerKey none: any
 */
final case class KeyBinding(
    footerKey: Option[String],
    keys: ColumnKeys,
    unlisted: UnlistedColumns,
    caseSensitive: Boolean
) extends ColumnPolicy {

  override def footer: Option[Asked] = footerKey.map(id => Asked(ColumnKey(id), "footerKey"))

  override def of(leaves: Seq[LeafColumn]): Seq[Asked] = {
    val draft = KeyDraft.of(leaves, Some(keys), unlisted, caseSensitive)
    draft.columns.find(_.keys.size > 1).foreach { column =>
      throw PmeErrors.twoKeys(column.leaf.display, column.keys.head, column.keys(1))
    }
    val asked = draft.columns.map { column =>
      val by = if (column.by.isEmpty) s"unlistedColumns=${unlisted.optionValue}" else ColumnKeys.OptionName
      Asked(column.protection.toSeq, by)
    }
    // Of a file without any of the listed columns, writers make one that is encrypted as a whole: see FileEncryption.
    if (asked.forall(_.accepted == Seq(Plaintext))) asked.map(_.copy(accepted = Seq(Plaintext, FooterKey)))
    else asked
  }
}

/** `uniformKey` of a read: everything is under this key. */
final case class UniformBinding(key: String) extends ColumnPolicy {
  private def asked = Asked(ColumnKey(key), "uniformKey")
  override def footer: Option[Asked] = Some(asked)
  override def of(leaves: Seq[LeafColumn]): Seq[Asked] = leaves.map(_ => asked)
}
