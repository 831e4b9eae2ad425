package io.pmeparquet.snapshot

import java.time.temporal.ChronoUnit
import java.time.Instant
import java.util.{Arrays, UUID}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.keys.KmsUse
import io.pmeparquet.options.NumberedWrite
import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.snapshot.manifest.{
  DataFormat,
  ErasedKeys,
  FileEntry,
  IndexEntry,
  Manifest,
  ManifestJson,
  PartEntry,
  Sealer,
  TablePolicy
}
import io.pmeparquet.snapshot.parts.{IndexFile, PartFile, PartKeys, SealedFile}

/**
 * Makes the next version of a table: parts first, then the manifest, which appears in one step. A process that is killed
 * leaves the version before, and perhaps parts that no manifest names. ''Driver only.''
 *
 * @param previous the version before
 */
final class NewVersion(
    directory: SnapshotDirectory,
    previous: Option[TableSnapshot],
    sealer: Sealer,
    use: => KmsUse,
    conf: Configuration
) {

  /**
   * Makes all of a version but its publication, which must follow, or [[BuiltVersion.discard]].
   *
   * @param files all files of the table, in the order of their paths
   * @param format of all files
   * @param summaries what each index says of a file. It is asked for files of parts that change or get a new index.
   * @param write the write that the version seals, and its number in its series
   * @param erasure what has been erased since the version before
   */
  def build(
      files: Vector[SealedFile],
      policy: TablePolicy,
      partitionColumns: Seq[String],
      indexes: Seq[IndexEntry],
      writer: String,
      summaries: NewVersion.Summaries = NewVersion.NoSummaries,
      format: DataFormat = DataFormat.Parquet,
      write: Option[NumberedWrite] = None,
      erasure: Option[ErasedKeys] = None
  ): BuiltVersion = {
    directory.requirePublishing()
    val number = previous.fold(1L)(_.version.number + 1)
    val kept = previous
      .map(_.version.manifest)
      .filter(before => before.policy.sharedKey == policy.sharedKey && before.format == format)
    val keys = new PartKeys(policy.sharedKey, use, directory.path, conf)
    val known = kept.fold(Seq.empty[IndexEntry])(_.indexes)
    val parts = new NewParts(directory, keys, format, indexes, known, summaries)
    try {
      val entries = ranges(files, kept.fold(Seq.empty[PartEntry])(_.parts)).flatMap { case (some, old) =>
        parts.of(some, old.filter(isSame(_, some)))
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
        entries,
        indexes,
        format,
        previous.fold(Map.empty[String, Long])(_.version.manifest.writes) ++ write.map(one =>
          one.series -> one.number
        ),
        // A further run for the same keys replaces what is stated of them.
        previous.toSeq
          .flatMap(_.version.manifest.erasures)
          .filterNot(old => erasure.exists(_.keys == old.keys)) ++ erasure
      )
      val content = ManifestJson.content(manifest)
      val seal = sealer.seal(content, directory.manifestPath(number).toString)
      val bytes = ManifestJson.file(content, seal)
      if (bytes.length > SnapshotDirectory.MostManifestBytes)
        throw PmeErrors.snapshotTooLarge(directory.table.toString)
      new BuiltVersion(
        Version(manifest, Sha256.hex(Sha256.ofBytes(bytes)))(seal),
        bytes,
        directory,
        parts.withdraw
      )
    } catch {
      case failed: Throwable =>
        parts.withdraw(failed.addSuppressed)
        throw failed
    }
  }

  /** The files in the range of paths of each old part, with that part; before the first part, none. */
  private def ranges(
      files: Vector[SealedFile],
      old: Seq[PartEntry]
  ): Vector[(Vector[SealedFile], Option[PartEntry])] = {
    val starts = old.map(_.first)
    def rangeOf(file: SealedFile) = starts.lastIndexWhere(SealedFiles.compare(_, file.path) <= 0)
    // Paths are in order, so neighbours have the same range.
    NewVersion.runs(files)(rangeOf).map { case (range, some) => some -> old.lift(range) }
  }

  private def isSame(entry: PartEntry, files: Vector[SealedFile]): Boolean =
    entry.files == files.size.toLong && entry.first == files.head.path && previous.exists { snapshot =>
      files.forall(file => snapshot.byPath.get(file.path).exists(NewVersion.isSame(_, file)))
    }
}

object NewVersion {

  /** What is known of a file, by index. */
  type Summaries = (IndexEntry, SealedFile) => Option[ColumnSummary]

  private[snapshot] val NoSummaries: Summaries = (_, _) => None

  /** Whether two rows describe the same content. */
  private def isSame(one: SealedFile, other: SealedFile): Boolean =
    // The time too: whoever seals next opens files with other times again.
    one.length == other.length && one.modified == other.modified && Arrays.equals(
      one.footerSha256,
      other.footerSha256
    ) &&
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

/**
 * Makes the parts of a new version: writes the lists and index files that are new, and uses those of the version before
 * again where they say the same. ''Driver only.''
 *
 * @param indexes of the new version
 * @param known the indexes of the version before, whose files may be used again
 * @param summaries what each index says of a file
 */
private[snapshot] final class NewParts(
    directory: SnapshotDirectory,
    keys: PartKeys,
    format: DataFormat,
    indexes: Seq[IndexEntry],
    known: Seq[IndexEntry],
    summaries: NewVersion.Summaries
) {
  private val written = mutable.ArrayBuffer.empty[String]

  /**
   * The parts that list some files.
   *
   * @param old a part of the version before that lists the same files
   */
  def of(files: Vector[SealedFile], old: Option[PartEntry]): Vector[PartEntry] = {
    val kept = old.fold(Map.empty[String, FileEntry])(ofKeptIndexes)
    val fresh = indexes.filterNot(index => kept.contains(index.field))
    val fits = files.size <= 2 * NewParts.MostFiles && files.iterator
      .map(bytesOf(fresh, _))
      .sum <= NewParts.MostBytes
    if (fits) Vector(part(files, old.map(_.list), kept))
    else cut(files).map(part(_, None, Map.empty))
  }

  /** The index files of an old part that serve the new version, by the new field of their index. */
  private def ofKeptIndexes(old: PartEntry): Map[String, FileEntry] = {
    val files = old.indexes.toMap
    indexes.flatMap(index => known.find(_.isLike(index)).map(like => index.field -> files(like.field))).toMap
  }

  private def part(
      files: Vector[SealedFile],
      list: Option[FileEntry],
      kept: Map[String, FileEntry]
  ): PartEntry =
    PartEntry(
      list.getOrElse(ofList(files)),
      files.size.toLong,
      files.head.path,
      files.last.path,
      indexes.map(index => index.field -> kept.getOrElse(index.field, ofIndex(index, files)))
    )

  private def ofList(files: Vector[SealedFile]): FileEntry = {
    val name = directory.newPart()
    write(name, PartFile.write(files, format, keys.ofList(directory.partPath(name), format)))
  }

  private def ofIndex(index: IndexEntry, files: Vector[SealedFile]): FileEntry = {
    val name = directory.newIndex()
    val encryption = keys.ofIndex(index, directory.partPath(name))
    write(name, IndexFile.write(index.kind, files.map(summaries(index, _)), encryption))
  }

  private def write(name: String, bytes: Array[Byte]): FileEntry = {
    if (bytes.length > SnapshotDirectory.MostPartBytes)
      throw PmeErrors.snapshotTooLarge(directory.table.toString)
    written += name
    directory.write(name, bytes)
    FileEntry(name, bytes.length.toLong, Sha256.hex(Sha256.ofBytes(bytes)))
  }

  /** Cuts files into parts: none has too many files, or too many bytes of digests and indexes. */
  private def cut(files: Vector[SealedFile]): Vector[Vector[SealedFile]] = {
    val parts = Vector.newBuilder[Vector[SealedFile]]
    var (first, bytes) = (0, 0L)
    files.indices.foreach { at =>
      val own = bytesOf(indexes, files(at))
      if (at - first == NewParts.MostFiles || (at > first && bytes + own > NewParts.MostBytes)) {
        parts += files.slice(first, at)
        first = at
        bytes = 0
      }
      bytes += own
    }
    (parts += files.drop(first)).result()
  }

  /** What a file takes of the list and of some indexes, where that depends on the file. */
  private def bytesOf(some: Seq[IndexEntry], file: SealedFile): Long =
    file.blocks.fold(0L)(_.digests.length.toLong) +
      some.iterator.flatMap(summaries(_, file)).map(IndexFile.sizeOf).sum

  /** Removes what was written, since no manifest will name it. */
  def withdraw(onFailure: Throwable => Unit): Unit = written.foreach { name =>
    try directory.delete(name)
    catch { case NonFatal(failed) => onFailure(failed) }
  }
}

private[snapshot] object NewParts {

  /** A reader holds a part in memory. */
  val MostFiles = 20000

  /** Of the digests of blocks and all indexes of a part. */
  val MostBytes: Long = 64L * 1024 * 1024
}
