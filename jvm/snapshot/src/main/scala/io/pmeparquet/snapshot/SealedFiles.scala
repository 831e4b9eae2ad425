package io.pmeparquet.snapshot

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Arrays, HashMap => JavaMap}

import org.apache.hadoop.fs.Path

import io.pmeparquet.{BlockDigests, PmeErrors}
import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.snapshot.manifest.{DataFormat, TablePolicy}
import io.pmeparquet.snapshot.parts.SealedFile

/**
 * What a snapshot says of the files of its table, for the tasks of a read. ''Crosses the wire.''
 *
 * @param table path of the table's directory, without scheme and authority
 * @param format of the files
 * @param policy without the names of columns
 * @param erased when each of some keys was destroyed
 */
private[snapshot] final class SealedFiles(
    table: String,
    files: JavaMap[String, SealedFiles.Entry],
    format: DataFormat,
    policy: TablePolicy,
    erased: Map[String, String]
) extends FileSeal {

  private def mismatch(path: Path, why: String) = PmeErrors.snapshotMismatch(path.toString, why)

  private def entryOf(path: Path) = SealedFiles
    .relative(table, path)
    .flatMap(relative => Option(files.get(relative)))
    .getOrElse(throw mismatch(path, "the file is not in the list"))

  override def requireLength(path: Path, length: Long): Unit = {
    val sealedLength = entryOf(path).length
    if (sealedLength != length)
      throw mismatch(
        path,
        s"the file is $length bytes long, and was $sealedLength bytes long when it was sealed"
      )
  }

  override def requireFooter(path: Path, sha256: Array[Byte]): Unit = {
    requireFormat(path, DataFormat.Parquet)
    if (!Arrays.equals(entryOf(path).footerSha256, sha256))
      throw mismatch(path, "the file has another footer than when it was sealed")
  }

  override def blocks(path: Path): Option[BlockDigests] = {
    requireFormat(path, DataFormat.Orc)
    entryOf(path).blocks
  }

  private def requireFormat(path: Path, read: DataFormat): Unit =
    if (format != read)
      throw mismatch(path, s"it lists ${format.name} files, and this read is of ${read.name}")

  override def erased(path: Path): Option[(String, String)] =
    footerOf(path).flatMap(key => erased.get(key).map(key -> _))

  // The place in the table, whatever is above it.
  private def footerOf(path: Path) =
    policy.footerAt(TablePolicy.placeOf(SealedFiles.relative(table, path).getOrElse("")))

  override def requireKey(path: Path, footerKey: Option[String]): Unit = {
    val stated = footerOf(path)
    // A template without a name there is no lack of encryption.
    if (stated != footerKey || stated.isEmpty != policy.footerKey.isEmpty)
      throw mismatch(
        path,
        s"its footer has ${footerKey.fold("no key")(key => s"the key '$key'")}, and the snapshot states " +
          stated.orElse(policy.footerKey).fold("none")(key => s"'$key'")
      )
  }

  override def toString: String = s"SealedFiles(${files.size})"
}

object SealedFiles {
  private[snapshot] final case class Entry(
      length: Long,
      footerSha256: Array[Byte],
      blocks: Option[BlockDigests]
  )

  /** @param table the table's directory, as readers name it */
  def of(table: Path, snapshot: TableSnapshot): FileSeal = {
    val entries = new JavaMap[String, Entry](snapshot.files.size * 2)
    snapshot.files.foreach(file => entries.put(file.path, Entry(file.length, file.footerSha256, file.blocks)))
    val manifest = snapshot.version.manifest
    val erased = manifest.erasures.flatMap(one => one.keys.map(_ -> one.erased)).toMap
    new SealedFiles(table.toUri.getPath, entries, manifest.format, footersOf(manifest.policy), erased)
  }

  /** For tasks: the other keys only where one could be confused with a footer's. */
  private def footersOf(policy: TablePolicy) =
    policy.copy(columns = if (policy.byPartition) policy.keys.toList.map(key => Nil -> Some(key)) else Nil)

  /** A path relative to the table's directory; none for a path elsewhere. */
  def relative(table: String, path: Path): Option[String] = {
    val below = table.stripSuffix("/") + "/"
    val full = path.toUri.getPath
    if (full.startsWith(below)) Some(full.substring(below.length)) else None
  }

  /** Whether a file is at a path, or below it. */
  def isAtOrBelow(root: Path, file: Path): Boolean = {
    val path = root.toUri.getPath
    file.toUri.getPath == path || relative(path, file).isDefined
  }

  /** By the bytes of UTF-8, which is the order of readers in all languages. */
  val byPath: Ordering[SealedFile] = (one, other) => compare(one.path, other.path)

  private[snapshot] def compare(one: String, other: String): Int =
    Arrays.compareUnsigned(one.getBytes(UTF_8), other.getBytes(UTF_8))

  private[snapshot] def areOrdered(files: Seq[SealedFile]): Boolean =
    files.isEmpty || files.iterator.zip(files.iterator.drop(1)).forall { case (one, next) =>
      byPath.lt(one, next)
    }
}
