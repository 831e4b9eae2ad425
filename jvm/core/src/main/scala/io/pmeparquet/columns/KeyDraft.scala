package io.pmeparquet.columns

import io.pmeparquet.{PmeErrors, PmeException, Spelling}

/**
 * The result of `columnKeys` and `unlistedColumns` for the leaf columns of one schema, valid or not. Without a refusal it is
 * a [[KeyPlan]].
 *
 * @param unmatched entries of `columnKeys` that match no column
 */
final case class KeyDraft(columns: Seq[KeyDraft.Column], unmatched: Seq[ColumnKeys.Entry]) {

  /** Why a write refuses it; a write raises the first. */
  def refusals: Seq[PmeException] = {
    val (without, several) = columns.filter(_.protection.isEmpty).partition(_.by.isEmpty)
    val unknown = unmatched.map { entry =>
      if (isColumn(entry.masterKeyId))
        PmeErrors.reversedColumnKeys(entry.masterKeyId, entry.pattern.text, names(columns))
      else PmeErrors.unknownColumn(entry.pattern.text, names(columns))
    }
    val twice =
      several.map(column => PmeErrors.twoKeys(column.leaf.display, column.keys.head, column.keys(1)))
    val unlisted = if (without.isEmpty) None else Some(PmeErrors.unlisted(names(without)))
    unknown ++ twice ++ unlisted
  }

  /** Columns, and the columns around them, that a pattern without a match most likely means; the nearest first. */
  def nearest(pattern: ColumnPattern): Seq[String] =
    Spelling.nearest(pattern.text, columns.flatMap(_.leaf.places).distinct).take(KeyDraft.MostNearest)

  private def isColumn(name: String) = columns.exists(_.leaf.places.exists(_.equalsIgnoreCase(name)))

  private def names(of: Seq[KeyDraft.Column]) = of.map(_.leaf.display)
}

object KeyDraft {

  /**
   * @param by the entries of `columnKeys` that cover it
   * @param protection none if a write refuses the column
   */
  final case class Column(leaf: LeafColumn, by: Seq[ColumnKeys.Entry], protection: Option[ColumnProtection]) {
    def keys: Seq[String] = keysOf(by)
  }

  /** @param keys none: every column gets the footer key */
  def of(
      leaves: Seq[LeafColumn],
      keys: Option[ColumnKeys],
      unlisted: UnlistedColumns,
      caseSensitive: Boolean
  ): KeyDraft = {
    val entries = keys.toSeq.flatMap(_.entries)
    val covering = entries.map(entry => entry -> entry.pattern.covering(entry.asIn(caseSensitive)))
    val rest = if (keys.isEmpty) Some(ColumnProtection.FooterKey) else protectionOf(unlisted)
    val columns = leaves.map { leaf =>
      val (ofPolicy, own) =
        covering.collect { case (entry, covers) if covers(leaf) => entry }.partition(_.isOfPolicy)
      val by = firstOfEach(ofPolicy) ++ own
      val protection = keysOf(by) match {
        case Seq() => rest
        case Seq(one) => Some(ColumnProtection.ColumnKey(one))
        case _ => None
      }
      Column(leaf, by, protection)
    }
    val matched = columns.flatMap(_.by).toSet
    KeyDraft(columns, entries.filterNot(entry => entry.isOfPolicy || matched(entry)))
  }

  /**
   * Keys without the entries of a policy that give no column its key: a policy is for many tables, and one of them needs
   * neither the keys nor the partitions of the others.
   */
  def needed(keys: ColumnKeys, leaves: Seq[LeafColumn], caseSensitive: Boolean): ColumnKeys = {
    val used = of(leaves, Some(keys), UnlistedColumns.UseFooterKey, caseSensitive).columns.flatMap(_.by).toSet
    ColumnKeys(keys.entries.filter(entry => !entry.isOfPolicy || used(entry)))
  }

  /** A policy gives a column the key of its first tag. Two policies that give it two keys contradict each other. */
  private def firstOfEach(entries: Seq[ColumnKeys.Entry]) =
    if (entries.size < 2) entries
    else
      entries
        .flatMap(_.tag.map(_.policy))
        .distinct
        .flatMap(name => entries.find(_.tag.exists(_.policy == name)))

  /**
   * The entries that match a partition column, with that column: its values are readable in directory names.
   */
  def ofPartitions(
      columns: Seq[String],
      keys: Option[ColumnKeys],
      caseSensitive: Boolean
  ): Seq[(ColumnKeys.Entry, String)] =
    for {
      entry <- keys.toSeq.flatMap(_.entries)
      column <- columns if entry.pattern.namesColumn(column, entry.asIn(caseSensitive))
    } yield entry -> column

  private def keysOf(entries: Seq[ColumnKeys.Entry]) = entries.map(_.masterKeyId).distinct

  private def protectionOf(unlisted: UnlistedColumns): Option[ColumnProtection] = unlisted match {
    case UnlistedColumns.UseFooterKey => Some(ColumnProtection.FooterKey)
    case UnlistedColumns.Plaintext => Some(ColumnProtection.Plaintext)
    case UnlistedColumns.Error => None
  }

  private val MostNearest = 3
}
