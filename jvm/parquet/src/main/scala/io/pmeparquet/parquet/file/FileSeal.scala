package io.pmeparquet.parquet.file

import org.apache.hadoop.fs.Path

import io.pmeparquet.BlockDigests

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
   * @param sha256 of the footer, its length and the magic; empty for a file that has none
   */
  def requireFooter(path: Path, sha256: Array[Byte]): Unit

  /**
   * Called when the footer has been opened, before any page is.
   *
   * @param footerKey the master key of the footer's key; none for a file without encryption
   */
  def requireKey(path: Path, footerKey: Option[String]): Unit

  /** The key of the file's footer, and when it was destroyed, if the snapshot states that; asked if the KMS refuses it. */
  def erased(path: Path): Option[(String, String)] = None

  /**
   * Called for a file of a format that authenticates nothing, in place of the two methods before.
   *
   * @return what each block of the file must be; none for a file of a table without a snapshot
   */
  def blocks(path: Path): Option[BlockDigests]
}
