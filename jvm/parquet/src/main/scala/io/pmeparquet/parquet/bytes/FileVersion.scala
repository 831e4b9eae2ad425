package io.pmeparquet.parquet.bytes

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

/**
 * A file at one time: it counts as the same while its length, in bytes, and modification time, in milliseconds, are.
 *
 * @param destination where it will be read from, if that is another place than where it is now
 */
private[parquet] final case class FileVersion(
    path: Path,
    length: Long,
    modified: Long,
    destination: Option[Path] = None
) {

  /** What its AAD prefix may be made of. */
  def place: Path = destination.getOrElse(path)
}

private[parquet] object FileVersion {

  /** As it stands now. */
  def of(path: Path, conf: Configuration): FileVersion =
    of(path, path.getFileSystem(conf).getFileStatus(path))

  def of(path: Path, status: FileStatus): FileVersion =
    FileVersion(path, status.getLen, status.getModificationTime)
}
