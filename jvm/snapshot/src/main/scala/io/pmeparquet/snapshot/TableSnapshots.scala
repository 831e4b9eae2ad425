package io.pmeparquet.snapshot

import java.io.IOException
import java.util.{HashMap => JavaMap}

import scala.annotation.tailrec

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.FileDecryptionProperties

import io.pmeparquet.{PmeErrors, PmeException, Sha256}
import io.pmeparquet.options.{MinimumSnapshot, PmeOptions, ReadSettings, SnapshotChoice, SnapshotSettings}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.snapshot.manifest.{DataFormat, FileEntry, IndexEntry, ManifestJson, PartEntry}
import io.pmeparquet.snapshot.manifest.{SealCheck, Seals}
import io.pmeparquet.snapshot.parts.{IndexFile, PartFile, PartKeys, SealedFile}
import io.pmeparquet.Condition.SnapshotDamaged

/**
 * START HERE. The snapshots of one table, for one reader: which version it gets, and the files that this version lists.
 * ''Driver only.''
 *
 * @param check verifies seals with the reader's keys
 * @param scope opens parts; its settings are those of [[TableSnapshots.acceptingParts]]
 */
final class TableSnapshots(
    val directory: SnapshotDirectory,
    settings: SnapshotSettings,
    check: SealCheck,
    scope: ReadScope,
    conf: Configuration
) {
  private def table = directory.table.toString

  /**
   * The version that the settings choose: its seal is verified, and it is a version of this table.
   *
   * @return none if the table has no snapshots, and the settings do not require one
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_…`
   */
  def chosen(): Option[Version] = if (settings.isOff) None else chosen(directory.versions)

  /** @param found the versions that have a manifest, which the caller has listed */
  def chosen(found: Seq[Long]): Option[Version] =
    if (settings.isOff) None
    else {
      if (found.isEmpty) settings.requiredBy.foreach(option => throw PmeErrors.noSnapshot(table, option))
      found.lastOption.map { newest =>
        val version = settings.choice match {
          case SnapshotChoice.Version(number) if !found.contains(number) =>
            throw PmeErrors.snapshotMismatch(table, s"version $number is not there, the newest is $newest")
          case SnapshotChoice.Version(number) => verified(number)
          case SnapshotChoice.Digest(prefix) => ofDigest(prefix, found)
          // The newest must verify: falling back to an older one would let anybody roll the table back.
          case _ => verified(newest)
        }
        requireMinimum(version)
        version
      }
    }

  private def requireMinimum(version: Version): Unit = settings.minimum.foreach { minimum =>
    def refused(why: String) = PmeErrors.oldSnapshot(table, s"$why, and minSnapshot=${minimum.text}")
    if (minimum.number.exists(_ > version.number)) throw refused(s"it is version ${version.number}")
    minimum match {
      case MinimumSnapshot.OfTable(id, _) if id != version.manifest.table =>
        throw refused(s"it is of the table with id ${version.manifest.table}")
      case MinimumSnapshot.Ancestor(prefix) if !version.digest.startsWith(prefix) =>
        if (!comesFrom(version.number - 1, version.manifest.previous, prefix))
          throw refused(s"no version before it has this digest")
      case _ => ()
    }
  }

  /** @param digest of the manifest with this number, by which it is trusted */
  @tailrec
  private def comesFrom(number: Long, digest: Option[String], prefix: String): Boolean =
    digest.exists(_.startsWith(prefix)) ||
      digest.isDefined && directory.versions.contains(number) &&
      comesFrom(number - 1, digestBefore(number, digest), prefix)

  /**
   * The digest of the version before one.
   *
   * @param digest of the manifest with this number, by which it is trusted
   */
  private def digestBefore(number: Long, digest: Option[String]): Option[String] = {
    val where = directory.manifestPath(number).toString
    val bytes = directory.manifest(number)
    if (!digest.contains(digestOf(bytes)))
      throw PmeErrors.snapshotNotAuthentic(where, "the version after it states another digest")
    ManifestJson.manifest(ManifestJson.lines(bytes, where)._1, where).previous
  }

  /**
   * The newest version, whatever `snapshot` chooses, for whoever makes the next one: `minSnapshot` holds for it too, or
   * an earlier state of the table that somebody put back would be sealed again.
   *
   * @return none if there is none
   */
  def newest(): Option[Version] = {
    val found = directory.versions.lastOption.map(verified)
    found.foreach(requireMinimum)
    if (found.isEmpty && settings.minimum.isDefined)
      throw PmeErrors.noSnapshot(table, PmeOptions.MinSnapshot.name)
    found
  }

  /**
   * Whether a version continues another: its chain of digests leads back to it.
   *
   * @throws io.pmeparquet.PmeException if a manifest between them is missing
   */
  def continues(version: Version, earlier: Version): Boolean =
    leadsBack(version.number - 1, version.manifest.previous, earlier) && {
      requireKeys(version, earlier)
      true
    }

  /** @param digest of the manifest with this number, by which it is trusted */
  @tailrec
  private def leadsBack(number: Long, digest: Option[String], earlier: Version): Boolean =
    if (number <= earlier.number) number == earlier.number && digest.contains(earlier.digest)
    else {
      if (!directory.versions.contains(number))
        throw PmeErrors.oldSnapshot(
          table,
          s"this session has read version ${earlier.number}, and version $number, which would show that the newest one " +
            "continues it, is gone"
        )
      leadsBack(number - 1, digestBefore(number, digest), earlier)
    }

  /**
   * Requires that each version from one that this session knows to another one was sealed by whoever had the key of the
   * version before it. Their digests are a chain, which [[continues]] has followed.
   */
  private def requireKeys(version: Version, earlier: Version): Unit =
    (earlier.number + 1 to version.number).foldLeft(earlier.seal) { (before, number) =>
      val where = directory.manifestPath(number).toString
      val (content, seal) = ManifestJson.lines(directory.manifest(number), where)
      check.requireContinued(before, content, seal, where)
      seal
    }

  /**
   * For the first version of a table that this session sees. If the read names neither a public key nor a footer key,
   * the oldest existing version says which key the others must be under. Whoever can delete all older versions can
   * hide that: see "What a first read trusts" in docs/snapshots.md.
   *
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_NOT_AUTHENTIC` if a version between them changed the key without
   *   its holder
   */
  def requireOwnHistory(version: Version): Unit = if (!check.namesKey) {
    directory.versions.headOption.filter(_ < version.number).foreach { number =>
      val oldest = unverified(number)
      if (!SealCheck.isSameKey(oldest.seal, version.seal)) requireContinuing(version, oldest)
    }
    // What pins a version pins its key, so the version must be there.
    settings.minimum match {
      case Some(MinimumSnapshot.Ancestor(prefix)) if !version.digest.startsWith(prefix) =>
        requireContinuing(version, pinned(version, prefix))
      case _ => ()
    }
  }

  private def requireContinuing(version: Version, earlier: Version): Unit =
    if (!continues(version, earlier))
      throw PmeErrors.snapshotNotAuthentic(
        directory.manifestPath(earlier.number).toString,
        s"version ${version.number} does not continue it"
      )

  /** The version before another one that has a digest, which a reader pins. */
  @tailrec
  private def pinned(version: Version, prefix: String): Version = {
    val number = version.number - 1
    if (!directory.versions.contains(number))
      throw PmeErrors.oldSnapshot(
        table,
        s"minSnapshot=$prefix names a version, and only the digest is left of it, so it is not known which key seals must " +
          "be under. Name that key (footerKey), or the digest of a later version"
      )
    val before = unverified(number)
    if (before.digest.startsWith(prefix)) before else pinned(before, prefix)
  }

  /** A version whose seal nobody has verified: its digest shows whether it is the one that is meant. */
  private def unverified(number: Long): Version = {
    val where = directory.manifestPath(number).toString
    val bytes = directory.manifest(number)
    val (content, seal) = ManifestJson.lines(bytes, where)
    Version(ManifestJson.manifest(content, where), digestOf(bytes))(seal)
  }

  /**
   * All versions, the newest first, whatever version the settings choose.
   *
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_…` if one of them does not verify, or a required one is missing
   */
  def all(): Seq[Version] = {
    val found = directory.versions
    if (found.isEmpty) settings.requiredBy.foreach(option => throw PmeErrors.noSnapshot(table, option))
    val versions = found.reverse.map(verified)
    versions.headOption.foreach(requireMinimum)
    versions
  }

  /** What all existing manifests state. Nothing of it is verified. */
  def stated(): Seq[Version] = directory.versions.map(unverified)

  /** All existing manifests, by their numbers. Nothing of them is verified. */
  def manifests(): Seq[(Long, Array[Byte])] =
    directory.versions.map(number => number -> directory.manifest(number))

  private def ofDigest(prefix: String, versions: Seq[Long]): Version =
    versions.reverseIterator
      .find(number => digestOf(directory.manifest(number)).startsWith(prefix))
      .map(verified)
      .filter(_.digest.startsWith(prefix))
      .getOrElse(throw PmeErrors.snapshotMismatch(table, s"no version has the digest $prefix"))

  /** A version with a manifest: its seal is verified, and it is a version of this table. */
  private[snapshot] def verified(number: Long): Version = {
    val where = directory.manifestPath(number).toString
    val bytes = unlessExpired(number)(directory.manifest(number))
    val (content, seal) = ManifestJson.lines(bytes, where)
    check.require(content, seal, where)
    val manifest = ManifestJson.manifest(content, where)
    if (manifest.version != number)
      throw PmeErrors.snapshotNotAuthentic(where, s"it is version ${manifest.version} under another name")
    if (manifest.location != directory.tableLocation)
      throw PmeErrors.snapshotNotAuthentic(
        where,
        s"it was made for the table at ${manifest.location}, and this table is at ${directory.tableLocation}"
      )
    if (directory.isLink && !settings.minimum.exists(_.isOfOneTable)) {
      val pin = s"${manifest.table}:$number"
      throw PmeErrors.linkedTable(table, directory.tableLocation, pin)
    }
    // Whoever has another master key must not list files under this one.
    if (seal.algorithm == Seals.Hmac && manifest.policy.footerKey.exists(_ != seal.key))
      throw PmeErrors.snapshotNotAuthentic(
        where,
        s"its HMAC is under master key '${seal.key}', and the key of its files' footers is " +
          s"'${manifest.policy.footerKey.get}'"
      )
    if (seal.algorithm == Seals.Hmac && manifest.policy.hasFooterTemplate)
      throw PmeErrors.snapshotNotAuthentic(
        where,
        "partitions name the keys of its footers, and it has no signature"
      )
    // Whoever can read some column of an ORC file has a master key, and no key is every reader's.
    if (seal.algorithm == Seals.Hmac && manifest.format == DataFormat.Orc)
      throw PmeErrors.snapshotNotAuthentic(where, "it lists ORC files, and has no signature")
    Version(manifest, digestOf(bytes))(seal)
  }

  private def digestOf(bytes: Array[Byte]) = Sha256.hex(Sha256.ofBytes(bytes))

  /** The files that a version lists. */
  def files(version: Version): TableSnapshot = {
    val files = unlessExpired(version.number) {
      version.manifest.parts.iterator.flatMap(listed(version, _)).toVector
    }
    // The order of paths makes each path unique.
    if (!SealedFiles.areOrdered(files))
      throw PmeErrors.snapshotDamaged(directory.path.toString, "its parts do not list their files in order")
    new TableSnapshot(version, files)
  }

  /** If something is missing because the version has expired meanwhile, says that it has. */
  private def unlessExpired[A](number: Long)(read: => A): A =
    try read
    catch {
      case failed: PmeException if failed.condition == SnapshotDamaged =>
        val there = directory.versions
        if (there.contains(number) || !there.exists(_ > number)) throw failed
        throw PmeErrors.snapshotExpired(table, number.toString, failed)
    }

  private def listed(version: Version, entry: PartEntry): Vector[SealedFile] = {
    val (bytes, keys, where) = opened(version, entry.list)
    val files = PartFile.read(bytes, version.manifest.format, keys, where)
    val isAsStated = files.size.toLong == entry.files && files.headOption.exists(_.path == entry.first) &&
      files.lastOption.exists(_.path == entry.last)
    if (!isAsStated)
      throw PmeErrors.snapshotDamaged(where, "it does not list the files that the manifest states")
    files
  }

  /**
   * What an index says of the files of a version.
   *
   * @param index one of the version's
   * @throws io.pmeparquet.PmeException if a file of the index is missing or damaged, or why its key is missing
   */
  def content(snapshot: TableSnapshot, index: IndexEntry): IndexContent = {
    val version = snapshot.version
    val bytes = version.manifest.parts.map(fileOf(_, index).length).sum
    if (bytes > TableSnapshots.MostIndexBytes)
      throw PmeErrors.indexTooLarge(
        table,
        index.label,
        bytes.toString,
        TableSnapshots.MostIndexBytes.toString
      )
    val known = new JavaMap[String, ColumnSummary]
    version.manifest.parts.foldLeft(0) { (first, part) =>
      val (bytes, keys, where) = openedIndex(version, fileOf(part, index))
      val summaries = IndexFile.read(bytes, index.kind, keys, where)
      if (summaries.size.toLong != part.files)
        throw PmeErrors.snapshotDamaged(where, "it does not have a row for each file of its part")
      for ((Some(summary), at) <- summaries.zipWithIndex) known.put(snapshot.files(first + at).path, summary)
      first + summaries.size
    }
    new IndexContent(index, known)
  }

  private def fileOf(part: PartEntry, index: IndexEntry) = part.indexes.find(_._1 == index.field).get._2

  /** A storage that does not give an index costs skipping, and not the query. */
  private def openedIndex(version: Version, file: FileEntry) =
    try opened(version, file)
    catch {
      case failed: IOException =>
        throw PmeErrors.snapshotDamaged(
          directory.partPath(file.name).toString,
          "the file cannot be read",
          failed
        )
    }

  private def opened(
      version: Version,
      file: FileEntry
  ): (Array[Byte], Option[FileDecryptionProperties], String) = {
    val path = directory.partPath(file.name)
    val bytes = directory.part(file)
    val keys =
      try if (version.manifest.policy.sharedKey.isDefined) PartKeys.forRead(scope, path, conf) else None
      catch {
        case failed: IOException =>
          throw PmeErrors.snapshotDamaged(path.toString, "the file cannot be read", failed)
      }
    (bytes, keys, path.toString)
  }
}

object TableSnapshots {

  /** A reader holds an index in memory. */
  private[snapshot] val MostIndexBytes: Long = 256L * 1024 * 1024

  /** The settings of a read of parts, from those of the table's read: parts have their own columns and no AAD prefix. */
  def acceptingParts(settings: ReadSettings): ReadSettings =
    settings.copy(columns = None, aadPrefix = None, allowPlaintextFiles = false, masking = None)
}
