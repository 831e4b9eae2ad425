package io.pmeparquet.parquet

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** A file at one time: it counts as the same while its length, in bytes, and modification time, in milliseconds, are. */
private[parquet] final case class FileVersion(path: Path, length: Long, modified: Long)

private[parquet] object FileVersion {

  /** As it stands now. */
  def of(path: Path, conf: Configuration): FileVersion = {
    val status = path.getFileSystem(conf).getFileStatus(path)
    FileVersion(path, status.getLen, status.getModificationTime)
  }
}
