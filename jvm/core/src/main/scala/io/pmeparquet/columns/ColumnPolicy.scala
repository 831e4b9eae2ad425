package io.pmeparquet.columns

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.columns.ColumnPolicy.Asked
import io.pmeparquet.columns.ColumnProtection.{ColumnKey, FooterKey, Plaintext}

/**
 * How the columns of each file must be protected; a reader refuses all other files. It comes from options of the read
 * ([[KeyBinding]]) or from metadata of a table. ''Crosses the wire''. Policies with the same requirements are equal.
 */
trait ColumnPolicy extends Serializable {

  /** The columns whose values name keys; none if all names are plain. */
  def keyColumns: Seq[String]

  /** Whether letters count in names of columns. */
  def caseSensitive: Boolean

  /** Whether names of keys depend on values that no directory has: only the footer of a file can state them. */
  final def waitsForFooter(place: FilePlace): Boolean =
    keyColumns.exists(!place.isPartitionedBy(_, caseSensitive))

  /**
   * The policy for the files of one place: names of keys may be templates over its partition, or over what files state.
   *
   * @param where a file in it, for messages
   * @throws io.pmeparquet.PmeException if a template has no name there
   */
  def at(place: FilePlace, where: String): ColumnPolicy

  /** What the footer's key must be; none for any. */
  def footer: Option[Asked]

  /** The same for the files of one place, whatever other names need. It throws as [[at]] does. */
  def footerAt(place: FilePlace, where: String): Option[Asked]

  /** Whether the name of the footer's key depends on values that no directory has. */
  final def footerWaits(place: FilePlace): Boolean = footer.exists { asked =>
    asked.accepted.exists {
      case ColumnKey(text) =>
        KeyTemplate.of(text, asked.by).columns.exists(!place.isPartitionedBy(_, caseSensitive))
      case _ => false
    }
  }

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
 * @param ofTags keys that unlisted columns may have as well: a catalog may give a column a tag that this read does not know
 */
final case class KeyBinding(
    footerKey: Option[String],
    keys: ColumnKeys,
    unlisted: UnlistedColumns,
    caseSensitive: Boolean,
    ofTags: Seq[String] = Nil
) extends ColumnPolicy {

  override def at(place: FilePlace, where: String): KeyBinding = if (keyColumns.isEmpty) this
  else
    withFooterAt(place, where).copy(
      keys = ColumnKeys(keys.entries.map(named(_, place, where))),
      ofTags = ofTags.flatMap(key => namedOf(key, place, where))
    )

  private def withFooterAt(place: FilePlace, where: String) =
    copy(footerKey = footerKey.map(names.nameOf(_, place, caseSensitive, where)))

  override def footerAt(place: FilePlace, where: String): Option[Asked] = withFooterAt(place, where).footer

  /**
   * A policy is for many tables: a tag whose template has no name here keeps the template, which is the key of no file. So
   * only a file that has a column with this tag is refused.
   */
  private def named(entry: ColumnKeys.Entry, place: FilePlace, where: String) =
    if (entry.isOfPolicy)
      namedOf(entry.masterKeyId, place, where).fold(entry)(name => entry.copy(masterKeyId = name))
    else entry.copy(masterKeyId = names.nameOf(entry.masterKeyId, place, caseSensitive, where))

  private def namedOf(key: String, place: FilePlace, where: String) =
    try Some(names.nameOf(key, place, caseSensitive, where))
    catch { case _: PmeException => None }

  override def keyColumns: Seq[String] = names.columns

  @transient private lazy val names = KeyNames(keys.entries.map(_.masterKeyId).toSet ++ footerKey ++ ofTags)

  override def footer: Option[Asked] = footerKey.map(id => Asked(ColumnKey(id), "footerKey"))

  override def of(leaves: Seq[LeafColumn]): Seq[Asked] = {
    val draft = KeyDraft.of(leaves, Some(keys), unlisted, caseSensitive)
    draft.columns.find(_.keys.size > 1).foreach { column =>
      throw PmeErrors.twoKeys(column.leaf.display, column.keys.head, column.keys(1))
    }
    // Writers encrypt a file without any of the listed columns as a whole: see FileEncryption.
    val isOpen = draft.columns.forall(_.protection.contains(Plaintext))
    draft.columns.map { column =>
      val asWhole = if (isOpen) Seq(FooterKey) else Nil
      val byCatalogs = if (column.by.isEmpty) ofTags.map(ColumnKey(_)) else Nil
      val by = column.by.headOption match {
        case None => s"unlistedColumns=${unlisted.optionValue}"
        case Some(entry) => entry.tag.fold(ColumnKeys.OptionName)(_.toString)
      }
      Asked(column.protection.toSeq ++ asWhole ++ byCatalogs, by)
    }
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
  override def footerAt(place: FilePlace, where: String): Option[Asked] = at(place, where).footer
  override def of(leaves: Seq[LeafColumn]): Seq[Asked] = leaves.map(_ => asked)
}
