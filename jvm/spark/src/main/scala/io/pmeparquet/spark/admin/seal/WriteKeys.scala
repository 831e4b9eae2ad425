package io.pmeparquet.spark.admin.seal

import java.util.Locale

import io.pmeparquet.columns.{ColumnProtection, FilePlace, KeyNames, KeyPlan, LeafColumn}
import io.pmeparquet.options.FileSettings
import io.pmeparquet.snapshot.manifest.TablePolicy
import io.pmeparquet.snapshot.TableSnapshot
import io.pmeparquet.spark.snapshot.WriteSeal
import io.pmeparquet.PmeErrors

/**
 * The keys that a write will give its files, as far as they are known before it writes. ''Driver only.''
 *
 * @param policy what a seal of its files alone would state
 * @param names of the keys, where partitions have named them
 * @param partitions the columns that it is partitioned by
 */
private[spark] final case class WriteKeys(policy: TablePolicy, names: Set[String], partitions: Seq[String]) {

  /**
   * Requires that a table can have these files, as its newest version states its keys.
   *
   * @param stays the files that the write leaves
   * @throws io.pmeparquet.PmeException if the next version could not state these keys, or one of them was erased
   */
  def requireFit(table: String, before: Option[TableSnapshot], stays: Boolean): Unit = {
    before.foreach(one => VersionPolicy.requireNotErased(table, one.version, names))
    requirePartitions(table)
    val old = before.filter(_ => stays).map(_.version.manifest.policy)
    old.foreach(requireSame(table, _))
    val merged = old.fold(policy) { one =>
      val known = one.columns.map(_._1).toSet
      TablePolicy(
        one.footerKey,
        one.columns ++ policy.columns.filterNot { case (column, _) => known(column) },
        one.byPartition || policy.byPartition
      )
    }
    if (merged.byPartition) requireApart(table, merged)
    for (one <- before if stays) VersionPolicy.requireSameNames(table, one.files.map(_.path), one, merged)
  }

  /** Requires that directories will name the keys of all files. */
  def requirePartitions(table: String): Unit =
    if (KeyNames(policy.keys).columns.exists(column => !partitions.exists(_.equalsIgnoreCase(column))))
      throw WriteSeal.keysByColumn(table)

  private def requireSame(table: String, old: TablePolicy): Unit = {
    val known = old.columns.toMap
    def shown(key: Option[String]) = key.fold("no key")(name => s"'$name'")
    val columns = policy.columns.flatMap { case (column, key) =>
      known.get(column).map(was => (s"${shown(key)} for column '${column.mkString(".")}'", key, was))
    }
    ((s"footerKey=${policy.footerKey.mkString}", policy.footerKey, old.footerKey) +: columns)
      .find { case (_, key, was) => key != was }
      .foreach { case (what, _, was) =>
        throw PmeErrors.unsupported(
          table,
          s"a write with $what",
          s"its snapshot states ${shown(was)}",
          "Name the key as the snapshot does."
        )
      }
  }

  /** Readers of a snapshot find columns in any letters. */
  private def requireApart(table: String, all: TablePolicy): Unit = {
    val named = KeyNames(all.keys).columns.map(_.toLowerCase(Locale.ROOT)).toSet
    partitions
      .groupBy(_.toLowerCase(Locale.ROOT))
      .find { case (column, some) => named(column) && some.size > 1 }
      .foreach { case (_, some) =>
        throw PmeErrors.unsupported(
          table,
          s"a key by partition where the columns ${some.map(one => s"'$one'").mkString(" and ")} differ only in case",
          "a snapshot does not tell them apart",
          "Rename one of the columns."
        )
      }
  }
}

private[spark] object WriteKeys {

  /** @param places where its files will be, one for each name of a key that partitions make */
  def of(
      leaves: Seq[LeafColumn],
      files: FileSettings,
      places: Option[Seq[FilePlace]],
      partitions: Seq[String]
  ): WriteKeys = {
    val plan = KeyPlan.of(leaves, files.columnKeys, files.unlisted, files.caseSensitive)
    val columns = plan.columns.map { case (leaf, protection) =>
      leaf.path -> (protection match {
        case ColumnProtection.Plaintext => None
        case ColumnProtection.FooterKey => Some(files.footerKey)
        case ColumnProtection.ColumnKey(key) => Some(key)
      })
    }
    WriteKeys(TablePolicy.ofTemplates(Some(files.footerKey), columns), namesOf(files, places), partitions)
  }

  private def namesOf(files: FileSettings, places: Option[Seq[FilePlace]]): Set[String] =
    places
      .fold(files.masterKeys)(_.flatMap(place => files.at(place, place.partition).masterKeys))
      .toSet
}
