package io.pmeparquet.snapshot.manifest

import io.pmeparquet.columns.{FilePlace, KeyNames, KeyTemplate}
import io.pmeparquet.PmeException

/**
 * What protects the columns of all files. ''Crosses the wire.''
 *
 * @param footerKey the master key of footers; none if the files are not encrypted
 * @param columns the master key of each leaf column, by its path in Parquet; none for a plaintext column
 * @param byPartition whether names of keys may be templates: a file has the keys that they name for its directory
 */
final case class TablePolicy(
    footerKey: Option[String],
    columns: Seq[(Seq[String], Option[String])],
    byPartition: Boolean = false
) {

  /**
   * The master key that all readers of a table have, and so that of its lists and of HMACs. There is none without
   * encryption, and none if each partition has its own.
   */
  def sharedKey: Option[String] = footerKey.filterNot(isTemplate)

  /** Whether all files together have no key, but each one has. */
  def hasFooterTemplate: Boolean = footerKey.exists(isTemplate)

  /** Whether partitions name the key. */
  def isTemplate(key: String): Boolean =
    byPartition && KeyTemplate.of(key, TablePolicy.Where).isTemplate

  /**
   * The name of a key for the files of one directory.
   *
   * @param key as this policy has it
   * @return none if it has no name there
   */
  def nameAt(key: String, place: FilePlace): Option[String] =
    if (!byPartition) Some(key)
    else
      // The spelling of a session's columns is nothing that a table states.
      try Some(names.nameOf(key, place, caseSensitive = false, place.partition))
      catch { case _: PmeException => None }

  /** The name of the footer's key for the files of one directory; none if it has none there. */
  def footerAt(place: FilePlace): Option[String] = footerKey.flatMap(nameAt(_, place))

  /** All names of keys, as this policy has them. */
  def keys: Set[String] = footerKey.toSet ++ columns.flatMap(_._2)

  @transient private lazy val names: KeyNames = KeyNames(keys)
}

object TablePolicy {
  private val Where = "the snapshot"

  /** @param path of a file, relative to its table's directory */
  def placeOf(path: String): FilePlace = FilePlace.of(path.take(path.lastIndexOf('/').max(0)))

  /**
   * A policy with templates, if one of its keys is one.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if a name is no template that could be written
   */
  def ofTemplates(footerKey: Option[String], columns: Seq[(Seq[String], Option[String])]): TablePolicy = {
    val policy = TablePolicy(footerKey, columns, byPartition = true)
    // Every name is parsed.
    if (policy.keys.toSeq.map(policy.isTemplate).contains(true)) policy else policy.copy(byPartition = false)
  }
}
