package io.pmeparquet.parquet.files

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.Options.Rename

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * The one way to make, find and remove our files beside data: staging, marks, claims, key material. Anybody who can
 * write to a table's directory may have put something there before us, for example a symbolic link to a file of ours.
 * So:
 *
 * - a file is created only if nothing exists there: no existing file is ever opened for writing, whatever leads to it;
 * - what is found under a known name is a file or a directory, and no link;
 * - removing follows no link.
 *
 * How much of this holds in every race depends on the file system
 * (`docs/decisions/0033-files-of-our-own-are-made-anew.md`).
 */
private[parquet] object OwnFiles {

  /** @throws io.pmeparquet.PmeException if something exists there */
  def create(path: Path, conf: Configuration): FSDataOutputStream = {
    val place = Place.of(path, conf)
    create(place, FsPermission.getFileDefault, place.fs.getDefaultReplication(place.path), place.blockBytes)
  }

  /** @param like gives replication and block size */
  def create(path: Path, like: FileStatus, conf: Configuration): FSDataOutputStream =
    create(Place.of(path, conf), FsPermission.getFileDefault, like.getReplication, like.getBlockSize)

  /** Makes an empty file; of several that try at the same moment, exactly one succeeds. */
  def createAlone(path: Path, conf: Configuration): Boolean = {
    val place = Place.of(path, conf)
    try {
      if (place.isLocal) LocalFiles.make(place.local)
      else place.fs.create(place.path, /* overwrite= */ false).close()
      true
    } catch { case there: IOException if isThere(there) => false }
  }

  /** @throws io.pmeparquet.PmeException if something exists there */
  def makeDirectory(path: Path, conf: Configuration): Unit = {
    val place = Place.of(path, conf)
    if (place.isLocal)
      try LocalFiles.makeDirectory(place.local)
      catch { case there: IOException if isThere(there) => throw PmeErrors.placeTaken(path.toString, there) }
    // Two processes would both believe that they made it, so the names must be random.
    else if (place.fs.exists(place.path)) throw PmeErrors.placeTaken(path.toString)
    else if (!place.fs.mkdirs(place.path)) throw new IOException(s"$path could not be created")
  }

  /** Makes a directory if it does not exist. */
  def ensureDirectory(path: Path, conf: Configuration): Unit = {
    // Several may try to make it.
    if (find(path, conf) == Found.Nothing)
      try makeDirectory(path, conf)
      catch { case _: PmeException if find(path, conf) == Found.Directory => () }
    requireDirectory(path, conf)
  }

  /** Makes the missing directories from one of ours down to one below it. */
  def makeDirectories(path: Path, own: Path, conf: Configuration): Unit =
    if (path != own) {
      makeDirectories(path.getParent, own, conf)
      ensureDirectory(path, conf)
    }

  /** As Hadoop does when it creates a file: object stores need no directories. */
  def makeParents(path: Path, conf: Configuration): Unit = {
    val fs = path.getFileSystem(conf)
    if (Place.isLocal(fs) && !fs.mkdirs(path.getParent))
      throw new IOException(s"${path.getParent} could not be created")
  }

  /** For our own file, and not for the target of a link that replaced it. */
  def setPermission(path: Path, permission: FsPermission, conf: Configuration): Unit = {
    val place = Place.of(path, conf)
    if (!Place.isHadoops(place.fs) || !LocalFiles.setPermission(place.local, permission))
      place.raw.setPermission(place.path, permission)
  }

  /** What exists at a path, without following a link. */
  def find(path: Path, conf: Configuration): Found = {
    val fs = path.getFileSystem(conf)
    if (Place.isLocal(fs)) LocalFiles.find(LocalFiles.of(path))
    else
      try {
        val status = fs.getFileStatus(path)
        if (status.isDirectory) Found.Directory else Found.File(status.getLen)
      } catch { case _: java.io.FileNotFoundException => Found.Nothing }
  }

  /** @throws io.pmeparquet.PmeException if it is not a directory */
  def requireDirectory(path: Path, conf: Configuration): Unit =
    if (find(path, conf) != Found.Directory) throw PmeErrors.planted(path.toString)

  /** @throws io.pmeparquet.PmeException if it is not a file */
  def requireFile(path: Path, conf: Configuration): Unit = find(path, conf) match {
    case Found.File(_) => ()
    case _ => throw PmeErrors.planted(path.toString)
  }

  /** Deletes a file, a link, or a directory with its content; nothing to delete is no failure. */
  def delete(path: Path, conf: Configuration): Unit = {
    val fs = path.getFileSystem(conf)
    if (Place.isHadoops(fs)) LocalFiles.delete(LocalFiles.of(path))
    else if (!fs.delete(path, /* recursive= */ true) && fs.exists(path))
      throw new IOException(s"$path could not be removed")
  }

  /** Deletes the content of one of our directories, except some names. */
  def clear(directory: Path, keep: Set[String], conf: Configuration): Unit = {
    val fs = directory.getFileSystem(conf)
    requireDirectory(directory, conf)
    if (Place.isHadoops(fs)) LocalFiles.clear(LocalFiles.of(directory), keep)
    else
      fs.listStatus(directory).map(_.getPath).filterNot(one => keep(one.getName)).foreach(delete(_, conf))
  }

  /**
   * Moves a directory to a place with nothing or an empty directory. Of two that try, one succeeds.
   *
   * @throws java.io.IOException if something is there by then
   */
  def moveToFree(from: Path, to: Path, conf: Configuration): Unit = {
    val (source, target) = (Place.of(from, conf), Place.of(to, conf))
    if (target.isLocal) LocalFiles.move(source.local, target.local)
    else {
      if (target.fs.exists(target.path)) target.fs.delete(target.path, /* recursive= */ false)
      if (target.fs.getUri.getScheme == Place.Hdfs)
        FileContext.getFileContext(target.fs.getUri, conf).rename(source.path, target.path, Rename.NONE)
      else if (!target.fs.rename(source.path, target.path))
        throw new IOException(s"$from could not be moved to $to")
      // Some file systems move it into a directory that appeared meanwhile.
      else if (target.fs.exists(new Path(target.path, source.path.getName))) {
        target.fs.delete(new Path(target.path, source.path.getName), /* recursive= */ true)
        throw new IOException(s"another process created $to at the same time")
      }
    }
  }

  private def create(
      place: Place,
      permission: FsPermission,
      replication: Short,
      block: Long
  ): FSDataOutputStream =
    try
      if (Place.isHadoops(place.fs)) LocalFiles.create(place.local)
      else {
        // A custom local file system writes the file after we have created it exclusively.
        if (place.isLocal) LocalFiles.make(place.local)
        place.raw.create(place.path, permission, place.isLocal, BufferBytes, replication, block, null)
      }
    catch {
      case there: IOException if isThere(there) => throw PmeErrors.placeTaken(place.path.toString, there)
    }

  private def isThere(failed: IOException) = failed match {
    case _: FileAlreadyExistsException | _: java.nio.file.FileAlreadyExistsException => true
    case _ => false
  }

  private val BufferBytes = 1024 * 1024
}
