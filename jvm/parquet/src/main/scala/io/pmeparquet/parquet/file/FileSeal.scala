package io.pmeparquet.parquet.file

import org.apache.hadoop.fs.Path

/** What a table's snapshot says of its files. ''Crosses the wire.'' */
trait FileSeal extends Serializable {

  /**
   * Called for each file when its footer has been opened, before any page is.
   *
   * @param length of the file, in bytes
   * @param footerSha256 of the footer, its length and the magic
   * @param footerKey the master key of the footer's key
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_MISMATCH` if the file is not the one that the snapshot lists
   */
  def require(path: Path, length: Long, footerSha256: Array[Byte], footerKey: Option[String]): Unit
}
