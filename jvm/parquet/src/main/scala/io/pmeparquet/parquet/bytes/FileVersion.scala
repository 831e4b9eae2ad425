package io.pmeparquet.parquet.bytes

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

/**
 * A file at one time. It counts as the same file while its length, in bytes, and its modification time, in
 * milliseconds, stay the same.
 *
 * @param destination where it will be read from, if not at `path`
 */
private[parquet] final case class FileVersion(
    path: Path,
    length: Long,
    modified: Long,
    destination: Option[Path] = None
) {

  /** The path from which its AAD prefix may be made. */
  def place: Path = destination.getOrElse(path)
}

private[parquet] object FileVersion {

  /** The file as it is now. */
  def of(path: Path, conf: Configuration): FileVersion =
    of(path, path.getFileSystem(conf).getFileStatus(path))

  def of(path: Path, status: FileStatus): FileVersion =
    FileVersion(path, status.getLen, status.getModificationTime)
}
