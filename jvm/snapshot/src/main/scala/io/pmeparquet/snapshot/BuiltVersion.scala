package io.pmeparquet.snapshot

import java.io.IOException
import java.util.Arrays

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.snapshot.manifest.ManifestJson

/**
 * A version whose parts are written, and whose manifest is sealed and not there yet. ''Driver only.''
 *
 * @param bytes of the manifest
 * @param withdraw removes its parts, and says which failures that had
 */
final class BuiltVersion private[snapshot] (
    version: Version,
    bytes: Array[Byte],
    directory: SnapshotDirectory,
    withdraw: (Throwable => Unit) => Unit
) {

  /** Nobody will publish it: it was to show that this could be done. */
  def discard(): Unit = withdraw(_ => ())

  /** @throws io.pmeparquet.PmeException `PME_SNAPSHOT_CONFLICT` if another process has made the same version */
  def publish(): Version = {
    val number = version.number
    try publish(number, bytes)
    catch {
      // After other failures the manifest may still appear: a store can get a request whose sender has given up.
      case conflict: PmeException if conflict.condition == Condition.SnapshotConflict =>
        withdraw(conflict.addSuppressed)
        throw conflict
    }
    val there = directory.versions
    if (!isLast(version, there)) {
      val conflict = PmeErrors.snapshotConflict(directory.table.toString)
      // If it is gone already, it has expired, and newer versions may use its parts.
      if (there.contains(number)) {
        directory.deleteManifest(number)
        withdraw(conflict.addSuppressed)
      }
      throw conflict
    }
    version
  }

  /**
   * Whether no other process made versions after `previous` before this one did. Their numbers can be free again, if the
   * versions have expired meanwhile.
   *
   * @param there the versions after it was made
   */
  private def isLast(made: Version, there: Seq[Long]): Boolean = there.contains(made.number) &&
    there.find(_ > made.number).forall { next =>
      val where = directory.manifestPath(next).toString
      val (content, _) = ManifestJson.lines(directory.manifest(next), where)
      // Without its seal: this only finds out whose version counts, and readers check the seal.
      next == made.number + 1 && ManifestJson.manifest(content, where).previous.contains(made.digest)
    }

  /** Whatever a storage answers, the content under the name decides. */
  private def publish(number: Long, bytes: Array[Byte]): Unit = {
    def isThere = Arrays.equals(directory.manifest(number), bytes)
    val isFree =
      try directory.publish(number, bytes)
      catch { case failed: IOException if !hasManifest(number) || !isThere => throw failed }
    if (!isFree && !isThere) throw PmeErrors.snapshotConflict(directory.table.toString)
  }

  private def hasManifest(number: Long) = directory.versions.contains(number)
}
