package io.pmeparquet.snapshot

import scala.collection.mutable
import scala.util.control.NonFatal

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.snapshot.manifest.{FileEntry, IndexEntry, PartEntry}
import io.pmeparquet.snapshot.parts.{IndexFile, PartFile, PartKeys, SealedFile}

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
      .sum <= NewParts.MostIndexBytes
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
    write(name, PartFile.write(files, keys.ofList(directory.partPath(name))))
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

  /** Cuts files into parts, none of which has too many files or too large an index. */
  private def cut(files: Vector[SealedFile]): Vector[Vector[SealedFile]] = {
    val parts = Vector.newBuilder[Vector[SealedFile]]
    var (first, bytes) = (0, 0L)
    files.indices.foreach { at =>
      val own = bytesOf(indexes, files(at))
      if (at - first == NewParts.MostFiles || (at > first && bytes + own > NewParts.MostIndexBytes)) {
        parts += files.slice(first, at)
        first = at
        bytes = 0
      }
      bytes += own
    }
    (parts += files.drop(first)).result()
  }

  private def bytesOf(some: Seq[IndexEntry], file: SealedFile) =
    some.iterator.flatMap(summaries(_, file)).map(IndexFile.sizeOf).sum

  /** Removes what was written, since no manifest will name it. */
  def withdraw(failed: Throwable): Unit = written.foreach { name =>
    try directory.delete(name)
    catch { case NonFatal(second) => failed.addSuppressed(second) }
  }
}

private[snapshot] object NewParts {

  /** A reader holds a part in memory. */
  val MostFiles = 20000

  /** Of all indexes of a part. */
  val MostIndexBytes: Long = 64L * 1024 * 1024
}
