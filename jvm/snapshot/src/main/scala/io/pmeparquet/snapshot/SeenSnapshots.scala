package io.pmeparquet.snapshot

import java.util.concurrent.ConcurrentHashMap

import io.pmeparquet.PmeErrors

/** The newest version of each table that one session has read or made, by the directory of its snapshots. */
final class SeenSnapshots {
  private val newest = new ConcurrentHashMap[String, Version]

  /**
   * Notes a version that a read has found.
   *
   * @param continues whether a version continues an earlier one
   * @param first called for the first version of a table; it fails if the version is not acceptable
   *
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_NOT_AUTHENTIC` if the session has seen a newer one, or another one
   *   of the same number
   */
  def note(directory: SnapshotDirectory, found: Version, first: Version => Unit)(
      continues: (Version, Version) => Boolean
  ): Unit = {
    newest.compute(
      directory.path.toString,
      (_, seen) =>
        if (seen == null) {
          first(found)
          found
        } else if (seen.digest == found.digest) seen
        else if (isNewer(seen, found) && continues(found, seen)) found
        else throw refusal(directory, seen, found)
    )
    ()
  }

  private def isNewer(seen: Version, found: Version) =
    seen.number < found.number && seen.manifest.table == found.manifest.table

  private def refusal(directory: SnapshotDirectory, seen: Version, found: Version) =
    PmeErrors.oldSnapshot(
      directory.table.toString,
      if (seen.manifest.table != found.manifest.table)
        s"it begins a new history, and this session has read version ${seen.number} of another"
      else if (seen.number == found.number) s"this session has read another version ${seen.number}"
      else if (found.number < seen.number)
        s"it is version ${found.number}, and this session has read version ${seen.number}"
      else s"it does not continue version ${seen.number}, which this session has read"
    )

  /**
   * Requires that a version which a reader chose by its number is of the history that this session knows.
   *
   * @param first called if the session knows none; it fails if the version is not acceptable
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_NOT_AUTHENTIC`
   */
  def requireKin(directory: SnapshotDirectory, chosen: Version, first: Version => Unit)(
      continues: (Version, Version) => Boolean
  ): Unit = Option(newest.get(directory.path.toString)) match {
    case None => first(chosen)
    case Some(seen) =>
      val isKin = seen.digest == chosen.digest || seen.manifest.table == chosen.manifest.table && {
        if (chosen.number < seen.number) continues(seen, chosen)
        else chosen.number > seen.number && continues(chosen, seen)
      }
      if (!isKin)
        throw PmeErrors.snapshotNotAuthentic(
          directory.manifestPath(chosen.number).toString,
          s"it is not of the history of version ${seen.number}, which this session has read"
        )
  }

  /** Whether the session has read or made a version of the table. */
  def knows(directory: SnapshotDirectory): Boolean = newest.containsKey(directory.path.toString)

  /** @throws io.pmeparquet.PmeException `PME_SNAPSHOT_NOT_AUTHENTIC` if the session has read the table by a snapshot */
  def requireNone(directory: SnapshotDirectory): Unit =
    Option(newest.get(directory.path.toString)).foreach { seen =>
      throw PmeErrors.snapshotsGone(directory.table.toString, seen.number.toString)
    }

  /** Notes a version that this session has made, whatever it saw before. */
  def made(directory: SnapshotDirectory, version: Version): Unit = {
    newest.put(directory.path.toString, version)
    ()
  }
}
