package io.pmeparquet.parquet.file

import org.apache.hadoop.fs.Path

import io.pmeparquet.{Condition, PmeErrors, PmeException}

/**
 * What a table's snapshot says of its files. Each method fails with `PME_SNAPSHOT_MISMATCH` if the file is not the one that
 * the snapshot lists. ''Crosses the wire.''
 */
trait FileSeal extends Serializable {

  /**
   * Called before a file is opened.
   *
   * @param length of the file, in bytes
   */
  def requireLength(path: Path, length: Long): Unit

  /**
   * Called before anything of a footer is parsed.
   *
   * @param sha256 of the footer, its length and the magic
   */
  def requireFooter(path: Path, sha256: Array[Byte]): Unit

  /**
   * Called when the footer has been opened, before any page is.
   *
   * @param footerKey the master key of the footer's key; none for a file without encryption
   */
  def requireKey(path: Path, footerKey: Option[String]): Unit
}

private[file] object FileSeal {

  /** Reads a footer. A file that has none any more is not the one that was sealed, of which it had the length. */
  def reading[A](seal: Option[FileSeal], path: Path)(read: => A): A =
    try read
    catch {
      case damaged: PmeException if seal.isDefined && damaged.condition == Condition.DamagedFile =>
        throw PmeErrors.snapshotMismatch(
          path.toString,
          "the file has no footer, and had one when it was sealed"
        )
    }
}
