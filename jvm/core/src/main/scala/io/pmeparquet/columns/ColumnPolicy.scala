package io.pmeparquet.columns

import io.pmeparquet.columns.ColumnPolicy.Asked
import io.pmeparquet.columns.ColumnProtection.{ColumnKey, FooterKey, Plaintext}
import io.pmeparquet.PmeErrors

/**
 * How the columns of each file must be protected; a reader refuses all other files. It comes from options of the read
 * ([[KeyBinding]]) or from metadata of a table. ''Crosses the wire''. Policies with the same requirements are equal.
 */
trait ColumnPolicy extends Serializable {

  /** The partition columns whose values name keys; none if all names are plain. */
  def keyColumns: Seq[String]

  /**
   * The policy for the files of one directory: names of keys may be templates over its partition.
   *
   * @param where a file in it, for messages
   * @throws io.pmeparquet.PmeException if a template has no name there
   */
  def at(place: FilePlace, where: String): ColumnPolicy

  /** What the footer's key must be; none for any. */
  def footer: Option[Asked]

  /**
   * What the protection of each leaf column of a file must be.
   *
   * @throws io.pmeparquet.PmeException if the policy contradicts itself for these columns
   */
  def of(leaves: Seq[LeafColumn]): Seq[Asked]
}

object ColumnPolicy {

  /**
   * @param accepted the protections that satisfy it, the usual one first; empty if none does
   * @param by the option that requires it
   */
  final case class Asked(accepted: Seq[ColumnProtection], by: String) {

    /** @param footerKey the master key of the footer's key */
    def isMetBy(found: ColumnProtection, footerKey: Option[String]): Boolean = accepted.exists { wanted =>
      wanted == found || ((wanted, found) match {
        // The same master key opens it in both cases.
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
 * Columns bound to their keys by `columnKeys`, `unlistedColumns` and `footerKey` of a read, with the same meaning as on a
 * write. A pattern may match no column: not all files of a table need to have all its columns.
 *
 * @param footerKey none for any
 */
final case class KeyBinding(
    footerKey: Option[String],
    keys: ColumnKeys,
    unlisted: UnlistedColumns,
    caseSensitive: Boolean
) extends ColumnPolicy {

  override def at(place: FilePlace, where: String): KeyBinding =
    copy(
      footerKey = footerKey.map(names.nameOf(_, place, caseSensitive, where)),
      keys = keys.named(names.nameOf(_, place, caseSensitive, where))
    )

  override def keyColumns: Seq[String] = names.columns

  private def names = KeyNames(keys.entries.map(_.masterKeyId).toSet ++ footerKey)

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
    // Writers encrypt a file without any of the listed columns as a whole: see FileEncryption.
    if (asked.forall(_.accepted == Seq(Plaintext))) asked.map(_.copy(accepted = Seq(Plaintext, FooterKey)))
    else asked
  }
}

/** `uniformKey` of a read: everything must have this key. */
final case class UniformBinding(key: String, caseSensitive: Boolean) extends ColumnPolicy {
  override def at(place: FilePlace, where: String): UniformBinding =
    copy(key = names.nameOf(key, place, caseSensitive, where))
  override def keyColumns: Seq[String] = names.columns
  private def names = KeyNames(Set(key))
  private def asked = Asked(ColumnKey(key), "uniformKey")
  override def footer: Option[Asked] = Some(asked)
  override def of(leaves: Seq[LeafColumn]): Seq[Asked] = leaves.map(_ => asked)
}
