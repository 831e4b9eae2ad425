package io.pmeparquet.parquet.bytes

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  ChecksumFileSystem,
  EtagSource,
  FSDataInputStream,
  FileStatus,
  Path,
  RawLocalFileSystem
}
import org.apache.hadoop.util.functional.FutureIO

import io.pmeparquet.columns.FilePlace
import io.pmeparquet.material.MaterialFile
import io.pmeparquet.PmeException

/**
 * A file at one time. It counts as the same file while its length, in bytes, its modification time, in milliseconds,
 * and its entity tag stay the same. An object store has such tags, and its times may be whole seconds.
 *
 * @param destination where it will be read from, if not at `path`
 * @param etag none where files have none, or if the file is known from a listing
 * @param isRecovered whether it is read for what is sound of it: without checksum files of Hadoop's own, and with a second
 *   look before damage is reported
 * @param held a copy of its bytes on the disk of this process, which is read in its place
 * @param status what the store reported of the file, if it was asked for this one
 */
private[pmeparquet] final case class FileVersion(
    path: Path,
    length: Long,
    modified: Long,
    destination: Option[Path] = None,
    etag: Option[String] = None,
    isRecovered: Boolean = false,
    held: Option[Path] = None
)(status: Option[FileStatus] = None) {

  /** The path from which its AAD prefix may be made. */
  def place: Path = destination.getOrElse(path)

  /** That place in its table. */
  def inTable: FilePlace = FilePlace.of(place.getParent.toUri.getPath)

  /** The same file, which will be read from another place. */
  def readFrom(destination: Path): FileVersion = copy(destination = Some(destination))(status)

  /** The same file, read for what is sound of it. */
  def recovered: FileVersion = copy(isRecovered = true)(status)

  /** The same file, whose bytes were copied. */
  def heldAt(place: Path): FileVersion = copy(held = Some(place))(status)

  /** Whether a listing shows this file. */
  def isListed(listed: FileVersion): Boolean = copy(etag = listed.etag)(None) == listed

  /**
   * Opens the file. A store that has entity tags is given the status: it is not asked for it again, and refuses to read
   * on if another object is there by now. Without a status it would pin the object that it finds when it opens, whose
   * length may be another one. On other file systems the status proves nothing and saves nothing.
   */
  def open(conf: Configuration): FSDataInputStream =
    held.fold(openStored(conf)) { copy =>
      val local = new RawLocalFileSystem
      local.initialize(copy.toUri, conf)
      local.open(copy)
    }

  private def openStored(conf: Configuration): FSDataInputStream = {
    val fs = path.getFileSystem(conf) match {
      case checked: ChecksumFileSystem if isRecovered => checked.getRawFileSystem
      case other => other
    }
    status.filter(_ => etag.isDefined).fold(fs.open(path)) { known =>
      FutureIO.awaitFuture(fs.openFile(path).withFileStatus(known).build())
    }
  }
}

private[pmeparquet] object FileVersion {

  /** The file as it is now. */
  def of(path: Path, conf: Configuration): FileVersion =
    of(path, path.getFileSystem(conf).getFileStatus(path))

  def of(path: Path, status: FileStatus): FileVersion =
    FileVersion(path, status.getLen, status.getModificationTime, etag = tagOf(status))(Some(status))

  private def tagOf(status: FileStatus) = status match {
    case tagged: EtagSource => Option(tagged.getEtag).filter(_.nonEmpty)
    case _ => None
  }
}

/** A small file next to data. Anyone with storage access may have made it as large as they like. */
private[parquet] object SmallText {

  /**
   * @param tooLong the error for a file of this many bytes
   * @throws java.io.FileNotFoundException if there is no file
   */
  def read(file: Path, conf: Configuration, tooLong: Long => PmeException): String = {
    val version = FileVersion.of(file, conf)
    if (version.length > MaterialFile.MaxBytes) throw tooLong(version.length)
    // A FIFO and a device are of no length, and opening one could wait without end.
    if (version.length == 0) ""
    else {
      val bytes = new Array[Byte](version.length.toInt)
      val stream = version.open(conf)
      try stream.readFully(0, bytes)
      finally stream.close()
      new String(bytes, UTF_8)
    }
  }
}
