package io.pmeparquet.parquet.rotation

import java.io.OutputStream

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.keys.WrappedKey
import io.pmeparquet.material.KeyMaterial
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.storage.{FileReplacement, ListedFile}
import io.pmeparquet.parquet.write.WrittenFooter

/**
 * What a rotation does with one file of a format: it finds the file's keys, and later replaces them with the rewrapped
 * ones. ''Crosses the wire.''
 */
trait FileRotation extends Serializable {

  /** The new master key for each old one; none if each key stays under its own. */
  protected def masterKeys: Option[Map[String, String]]

  /** The new master key of keys under another one; none if they stay as they are. */
  final def target(masterKeyId: String): Option[String] =
    masterKeys.fold(Option(masterKeyId))(_.get(masterKeyId))

  /** The keys that a file shows before any of its keys is known. */
  def firstKeys(file: ListedFile, conf: Configuration): Seq[WrappedKey]

  /** The other keys that [[look]] will need to prove that they are the file's. */
  def furtherKeys(file: ListedFile, conf: Configuration): Seq[WrappedKey]

  /** Finds the keys of a file, and proves that those which change are the file's. */
  def look(file: ListedFile, conf: Configuration): FileNeeds

  /**
   * Writes the file's rewrapped keys. Leaves a file alone that another attempt of the same task has finished.
   *
   * @param changes the new form of each key, by the old one
   * @return the footer that the file had, and the one that this has written; none if the file itself stays as it is
   */
  def change(
      file: ListedFile,
      changes: Map[WrappedKey, WrappedKey],
      conf: Configuration
  ): Option[RotatedFooter]

  /** The master keys of some key material, and those from which this rotation has taken it before. */
  protected final def met(materials: Seq[KeyMaterial]): Seq[String] = {
    val before = materials.flatMap { one =>
      one.rotatedFrom.filter(from => masterKeys.flatMap(_.get(from)).contains(one.masterKeyId))
    }
    (materials.map(_.masterKeyId) ++ before).distinct
  }
}

object FileRotation {
  val Internal = "internal"
  val External = "external"

  /** The prefix of files that a rotation makes, and leaves behind if it is killed. */
  val LeftoverPrefix: String = FileReplacement.StagedPrefix
}

/** A file as a rotation finds it, to get another end. */
private[pmeparquet] final class EndReplacement private (
    private[rotation] val version: FileVersion,
    private[rotation] val status: FileStatus,
    listed: FileVersion,
    conf: Configuration
) {

  /** Of the file as it is now, in bytes. */
  def length: Long = version.length

  /** Whether a listing showed this file. */
  def isListed: Boolean = version.isListed(listed)

  /**
   * Replaces the file with one of the same bytes up to an offset, and another end.
   *
   * @param before SHA-256 of the end that it had
   */
  def write(from: Long, end: Array[Byte], before: Array[Byte]): RotatedFooter = {
    val path = version.path
    def unchanged(): Unit =
      if (FileVersion.of(path, conf) != version) throw PmeErrors.changedMeanwhile(path.toString)
    FileReplacement.of(path, conf).write(status, () => unchanged()) { out =>
      copy(from, out)
      out.write(end)
    }
    RotatedFooter(before, WrittenFooter(from + end.length, Sha256.ofBytes(end)))
  }

  private def copy(until: Long, out: OutputStream): Unit = {
    val in = version.open(conf)
    try {
      val buffer = new Array[Byte](EndReplacement.BufferBytes)
      var left = until
      while (left > 0) {
        val count = left.min(buffer.length.toLong).toInt
        in.readFully(buffer, 0, count)
        out.write(buffer, 0, count)
        left -= count
      }
    } finally in.close()
  }
}

private[pmeparquet] object EndReplacement {
  private val BufferBytes = 1024 * 1024

  def of(file: ListedFile, conf: Configuration): EndReplacement = {
    val path = new Path(file.path)
    val status = path.getFileSystem(conf).getFileStatus(path)
    new EndReplacement(FileVersion.of(path, status), status, file.version, conf)
  }
}

/**
 * The end of a file that a rotation has replaced. ''Crosses the wire.''
 *
 * @param before SHA-256 of the old footer, its length and the magic
 */
final case class RotatedFooter(before: Array[Byte], after: WrittenFooter)

/** What one file needs. It contains no secrets. */
sealed trait FileNeeds extends Serializable

object FileNeeds {
  final case class Nothing(because: String) extends FileNeeds

  /**
   * @param keys the file's distinct wrapped keys; those to rewrap are proven to be the file's
   * @param more whether there is work even if no key changes
   * @param met all master keys of its keys, and those from which this rotation has taken keys before
   */
  final case class Keys(keys: Seq[WrappedKey], material: String, more: Boolean, met: Seq[String])
      extends FileNeeds
}
