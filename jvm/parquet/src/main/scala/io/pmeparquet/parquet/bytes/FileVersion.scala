package io.pmeparquet.parquet.bytes

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

/**
 * A file at one time: it counts as unchanged while its length, in bytes, and modification time, in milliseconds, are
 * the same.
 *
 * @param destination where it will be read, if it will be moved
 */
private[parquet] final case class FileVersion(
    path: Path,
    length: Long,
    modified: Long,
    destination: Option[Path] = None
) {

  /** The values for a template of its AAD prefix. */
  def place: Path = destination.getOrElse(path)
}

private[parquet] object FileVersion {

  /** As it stands now. */
  def of(path: Path, conf: Configuration): FileVersion =
    of(path, path.getFileSystem(conf).getFileStatus(path))

  def of(path: Path, status: FileStatus): FileVersion =
    FileVersion(path, status.getLen, status.getModificationTime)
}
