package io.pmeparquet.snapshot

import java.io.IOException
import java.time.temporal.ChronoUnit
import java.time.Instant
import java.util.{Arrays, UUID}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation

import io.pmeparquet.{Condition, PmeErrors, PmeException, Sha256}
import io.pmeparquet.keys.KmsUse
import io.pmeparquet.snapshot.manifest.{IndexEntry, Manifest, ManifestJson, PartEntry, TablePolicy}
import io.pmeparquet.snapshot.parts.{PartFile, PartKeys, SealedFile}
import io.pmeparquet.snapshot.seal.Sealer

/**
 * Makes the next version of a table: parts first, then the manifest, which appears in one step. A process that is killed
 * leaves the version before, and perhaps parts that no manifest names. ''Driver only.''
 *
 * @param previous the version before, with the ranges of the indexes that stay
 */
final class NewVersion(
    directory: SnapshotDirectory,
    previous: Option[TableSnapshot],
    sealer: Sealer,
    use: => KmsUse,
    conf: Configuration
) {

  /**
   * @param files all files of the table, in the order of their paths
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_CONFLICT` if another process has made the same version
   */
  def publish(
      files: Vector[SealedFile],
      policy: TablePolicy,
      partitionColumns: Seq[String],
      indexes: Seq[IndexEntry],
      writer: String
  ): Version = {
    directory.requirePublishing()
    val number = previous.fold(1L)(_.version.number + 1)
    val added = mutable.ArrayBuffer.empty[String]
    lazy val encryption = PartKeys.forWrite(policy, indexes, use, directory.path, conf)
    def written(some: Vector[SealedFile]): PartEntry = {
      val name = directory.newPart()
      val bytes = PartFile.write(some, indexes, encryption(directory.partPath(name)))
      if (bytes.length > SnapshotDirectory.MostPartBytes)
        throw PmeErrors.snapshotTooLarge(directory.table.toString)
      added += name
      directory.write(name, bytes)
      PartEntry(
        name,
        bytes.length.toLong,
        Sha256.hex(Sha256.ofBytes(bytes)),
        some.size.toLong,
        some.head.path,
        some.last.path
      )
    }
    val kept = previous.map(_.version.manifest).filter(old => old.policy == policy && old.indexes == indexes)
    def withdraw(failed: Throwable): Unit = added.foreach(remove(_, failed))
    val made =
      try {
        val parts = slices(files, kept.fold(Seq.empty[PartEntry])(_.parts)).map { case (some, old) =>
          old.filter(isSame(_, some)).getOrElse(written(some))
        }
        val manifest = Manifest(
          number,
          previous.map(_.version.digest),
          previous.fold(UUID.randomUUID.toString)(_.version.manifest.table),
          directory.tableLocation,
          Instant.now.truncatedTo(ChronoUnit.SECONDS).toString,
          UserGroupInformation.getCurrentUser.getShortUserName,
          writer,
          policy,
          partitionColumns,
          files.size.toLong,
          files.iterator.map(_.rows).sum,
          files.iterator.map(_.length).sum,
          parts,
          indexes
        )
        val content = ManifestJson.content(manifest)
        val seal = sealer.seal(content, directory.manifestPath(number).toString)
        val bytes = ManifestJson.file(content, seal)
        if (bytes.length > SnapshotDirectory.MostManifestBytes)
          throw PmeErrors.snapshotTooLarge(directory.table.toString)
        bytes -> Version(manifest, Sha256.hex(Sha256.ofBytes(bytes)), seal.algorithm, seal.key)
      } catch {
        case failed: Throwable =>
          withdraw(failed)
          throw failed
      }
    val (bytes, version) = made
    try publish(number, bytes)
    catch {
      // After other failures the manifest may still appear: a store can get a request whose sender has given up.
      case conflict: PmeException if conflict.condition == Condition.SnapshotConflict =>
        withdraw(conflict)
        throw conflict
    }
    val there = directory.versions
    if (!isLast(version, there)) {
      val conflict = PmeErrors.snapshotConflict(directory.table.toString)
      // If it is gone already, it has expired, and newer versions may use its parts.
      if (there.contains(number)) {
        directory.deleteManifest(number)
        withdraw(conflict)
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

  /** Whatever a storage answers, what is there under the name decides. */
  private def publish(number: Long, bytes: Array[Byte]): Unit = {
    def isThere = Arrays.equals(directory.manifest(number), bytes)
    val isFree =
      try directory.publish(number, bytes)
      catch { case failed: IOException if !hasManifest(number) || !isThere => throw failed }
    if (!isFree && !isThere) throw PmeErrors.snapshotConflict(directory.table.toString)
  }

  private def hasManifest(number: Long) = directory.versions.contains(number)

  private def remove(part: String, failed: Throwable): Unit =
    try directory.delete(part)
    catch { case NonFatal(second) => failed.addSuppressed(second) }

  /** The files of each part to be, with the old part that covers the same range of paths. */
  private def slices(
      files: Vector[SealedFile],
      old: Seq[PartEntry]
  ): Vector[(Vector[SealedFile], Option[PartEntry])] = {
    val starts = old.map(_.first)
    def rangeOf(file: SealedFile) = starts.lastIndexWhere(SealedFiles.compare(_, file.path) <= 0)
    // Paths are in order, so neighbours have the same range.
    NewVersion.runs(files)(rangeOf).flatMap { case (range, some) =>
      val covering = if (range >= 0) Some(old(range)) else None
      if (some.size <= NewVersion.MostFilesOfPart) Vector(some -> covering)
      else some.grouped(NewVersion.FilesOfPart).map(_ -> Option.empty[PartEntry]).toVector
    }
  }

  private def isSame(entry: PartEntry, files: Vector[SealedFile]): Boolean =
    entry.files == files.size.toLong && entry.first == files.head.path && previous.exists { snapshot =>
      files.forall(file => snapshot.byPath.get(file.path).exists(NewVersion.isSame(_, file)))
    }
}

object NewVersion {
  private val FilesOfPart = 20000
  private val MostFilesOfPart = 2 * FilesOfPart

  /** Whether two rows describe the same content. */
  private def isSame(one: SealedFile, other: SealedFile): Boolean =
    one.length == other.length && Arrays.equals(one.footerSha256, other.footerSha256) &&
      Arrays.equals(one.sha256, other.sha256)

  /** Neighbours with the same key, in order. */
  private[snapshot] def runs[A, K](items: Vector[A])(key: A => K): Vector[(K, Vector[A])] =
    if (items.isEmpty) Vector.empty
    else {
      val keys = items.map(key)
      val starts = items.indices.filter(at => at == 0 || keys(at) != keys(at - 1))
      starts
        .zip(starts.drop(1) :+ items.size)
        .map { case (from, until) => keys(from) -> items.slice(from, until) }
        .toVector
    }
}
