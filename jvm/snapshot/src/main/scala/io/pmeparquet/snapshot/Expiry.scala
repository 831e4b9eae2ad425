package io.pmeparquet.snapshot

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * Deletes old versions of a table: manifests first, the oldest before the others, and then the parts that no remaining
 * manifest names. The newest version and its parts stay, so a process that is killed leaves a table that can be read.
 * ''Driver only.''
 */
final class Expiry(snapshots: TableSnapshots) {
  import Expiry._

  private val directory = snapshots.directory

  /**
   * @param keep how many of the newest versions stay
   * @param now in milliseconds since 1970
   * @throws io.pmeparquet.PmeException if a version that stays is not verified; nothing was deleted
   */
  def run(keep: Int, now: Long): Expired = {
    if (keep < 1) throw new IllegalStateException("internal error: the newest version must stay")
    val found = directory.versions
    val kept = found.takeRight(keep).reverse.map(snapshots.verified)
    requireOneTable(kept)
    val old = found.dropRight(keep)
    // Listed before the manifests are listed again: of a version that appears meanwhile, all parts are here.
    val unnamed = partsWithout(kept)
    val (young, deletable) = unnamed.partition(part => part.modified > now - LifetimeMillis)
    val oldParts = if (young.isEmpty) Set.empty[String] else namedBy(old)
    old.foreach(directory.deleteManifest)
    val made = directory.versions.filterNot(found.contains).map(snapshots.verified)
    val named = partsOf(made)
    val gone = (deletable ++ young.filter(part => oldParts(part.name))).filterNot(part => named(part.name))
    gone.foreach(part => directory.delete(part.name))
    Expired(old.size, gone.count(!_.isStaged))
  }

  private def requireOneTable(kept: Seq[Version]): Unit =
    kept.find(_.manifest.table != kept.head.manifest.table).foreach { other =>
      val where = directory.manifestPath(other.number).toString
      throw PmeErrors.snapshotNotAuthentic(where, "it belongs to another table than the newest version")
    }

  private def partsWithout(versions: Seq[Version]): Seq[StoredPart] = {
    val named = partsOf(versions)
    directory.parts.filterNot(part => named(part.name))
  }

  /** The parts of versions that expire. A manifest that is not verified says nothing of any part. */
  private def namedBy(versions: Seq[Long]): Set[String] = partsOf(versions.flatMap { number =>
    try Some(snapshots.verified(number))
    catch { case _: PmeException => None }
  })

  private def partsOf(versions: Seq[Version]): Set[String] =
    versions.iterator.flatMap(_.manifest.parts).flatMap(_.names).toSet
}

/**
 * @param versions how many manifests were deleted
 * @param parts how many parts were deleted
 */
final case class Expired(versions: Int, parts: Int)

private object Expiry {

  /** Another process may be writing a part that is younger and that no manifest names. */
  val LifetimeMillis: Long = 24L * 60 * 60 * 1000
}
