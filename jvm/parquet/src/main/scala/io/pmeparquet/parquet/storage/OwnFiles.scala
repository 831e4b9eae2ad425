package io.pmeparquet.parquet.storage

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.Options.Rename
import org.apache.hadoop.ipc.RemoteException

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * The only way to create, find and remove what we keep next to data: staging, marks, claims, key material. Anyone else
 * who can write to a table's directory may have put something in its place before us, for example a symbolic link to a
 * file of ours. Therefore:
 *
 *   - Creating never opens an existing file for writing, whatever leads to it.
 *   - What is found under a name that others know is a file or a directory, not a link.
 *   - Removing does not follow links.
 *
 * How far this holds at every moment, against any race, depends on the file system
 * (`docs/decisions/0033-files-of-our-own-are-made-anew.md`).
 */
private[pmeparquet] object OwnFiles {

  /** @throws io.pmeparquet.PmeException where something is there */
  def create(path: Path, conf: Configuration): FSDataOutputStream = {
    val place = Place.of(path, conf)
    create(place, FsPermission.getFileDefault, place.fs.getDefaultReplication(place.path), place.blockBytes)
  }

  /** @param like the file whose replication and block size it gets */
  def create(path: Path, like: FileStatus, conf: Configuration): FSDataOutputStream =
    create(Place.of(path, conf), FsPermission.getFileDefault, like.getReplication, like.getBlockSize)

  /**
   * Creates a file with this content, synced to the disk if the file system can.
   *
   * @throws io.pmeparquet.PmeException where something is there
   */
  def write(path: Path, bytes: Array[Byte], conf: Configuration): Unit = {
    val out = create(path, conf)
    try {
      out.write(bytes)
      // S3A cannot, and has an object on its disks when it is closed.
      if (out.hasCapability(StreamCapabilities.HSYNC)) out.hsync()
    } finally out.close()
  }

  /** Creates an empty file. If several try at the same moment, exactly one succeeds. */
  def createExclusively(path: Path, conf: Configuration): Boolean = {
    val place = Place.of(path, conf)
    try {
      if (place.isLocal) LocalFiles.make(place.local)
      else place.fs.create(place.path, /* overwrite= */ false).close()
      true
    } catch { case there: IOException if isThere(there) => false }
  }

  /** @throws io.pmeparquet.PmeException where something is there */
  def makeDirectory(path: Path, conf: Configuration): Unit = {
    val place = Place.of(path, conf)
    if (place.isLocal)
      try LocalFiles.makeDirectory(place.local)
      catch { case there: IOException if isThere(there) => throw PmeErrors.placeTaken(path.toString, there) }
    // Otherwise two callers would each think that they made it. Names drawn at random belong to one caller.
    else if (place.fs.exists(place.path)) throw PmeErrors.placeTaken(path.toString)
    else if (!place.fs.mkdirs(place.path)) throw new IOException(s"$path could not be created")
  }

  /** Creates a directory if it does not exist. */
  def ensureDirectory(path: Path, conf: Configuration): Unit = {
    // Others may be creating it at the same moment.
    if (find(path, conf) == Found.Nothing)
      try makeDirectory(path, conf)
      catch { case _: PmeException if find(path, conf) == Found.Directory => () }
    requireDirectory(path, conf)
  }

  /** Creates the missing directories from one of our own down to one in it. */
  def makeDirectories(path: Path, own: Path, conf: Configuration): Unit =
    if (path != own) {
      makeDirectories(path.getParent, own, conf)
      ensureDirectory(path, conf)
    }

  /** Creates parents as Hadoop does for a file: object stores need no directories. */
  def makeParents(path: Path, conf: Configuration): Unit = {
    val fs = path.getFileSystem(conf)
    if (Place.isLocal(fs) && !fs.mkdirs(path.getParent))
      throw new IOException(s"${path.getParent} could not be created")
  }

  /** Changes our own file, and not the target of a link that has replaced it. */
  def setPermission(path: Path, permission: FsPermission, conf: Configuration): Unit = {
    val place = Place.of(path, conf)
    if (!Place.isHadoops(place.fs) || !LocalFiles.setPermission(place.local, permission))
      place.raw.setPermission(place.path, permission)
  }

  /** What exists under this name, without following links. */
  def find(path: Path, conf: Configuration): Found =
    if (hasLinks(path, conf)) LocalFiles.find(LocalFiles.of(path))
    else
      try {
        val status = path.getFileSystem(conf).getFileStatus(path)
        if (status.isDirectory) Found.Directory else Found.File(status.getLen)
      } catch { case _: java.io.FileNotFoundException => Found.Nothing }

  /** Whether there can be links where a path is. */
  def hasLinks(path: Path, conf: Configuration): Boolean = Place.isLocal(path.getFileSystem(conf))

  /** @throws io.pmeparquet.PmeException if something other than a directory exists */
  def requireDirectory(path: Path, conf: Configuration): Unit =
    if (find(path, conf) != Found.Directory) throw PmeErrors.planted(path.toString)

  /** @throws io.pmeparquet.PmeException if something other than a file exists */
  def requireFile(path: Path, conf: Configuration): Unit = find(path, conf) match {
    case Found.File(_) => ()
    case _ => throw PmeErrors.planted(path.toString)
  }

  /** Deletes a file, a link, or a directory with its content. It is no failure if nothing exists. */
  def delete(path: Path, conf: Configuration): Unit = {
    val fs = path.getFileSystem(conf)
    if (Place.isHadoops(fs)) LocalFiles.delete(LocalFiles.of(path))
    else if (!fs.delete(path, /* recursive= */ true) && fs.exists(path))
      throw new IOException(s"$path could not be removed")
  }

  /** The files in a directory and in those below it. */
  def filesBelow(directory: Path, conf: Configuration): Iterator[Path] = {
    val files = directory.getFileSystem(conf).listFiles(directory, /* recursive= */ true)
    Iterator.continually(files).takeWhile(_.hasNext).map(_.next().getPath)
  }

  /** Deletes everything in a directory of our own, except some names. */
  def clear(directory: Path, keep: Set[String], conf: Configuration): Unit = {
    val fs = directory.getFileSystem(conf)
    requireDirectory(directory, conf)
    if (Place.isHadoops(fs)) LocalFiles.clear(LocalFiles.of(directory), keep)
    else
      fs.listStatus(directory).map(_.getPath).filterNot(one => keep(one.getName)).foreach(delete(_, conf))
  }

  /**
   * Moves a directory to a free path, or over an empty directory, on the local disk or HDFS. If two callers try, exactly
   * one succeeds. Elsewhere [[UnfinishedCopy]] moves the files.
   *
   * @throws java.io.IOException if something exists there by then
   */
  def moveToFree(from: Path, to: Path, conf: Configuration): Unit = {
    val (source, target) = (Place.of(from, conf), Place.of(to, conf))
    if (target.isLocal) LocalFiles.move(source.local, target.local)
    else {
      if (target.fs.exists(target.path)) target.fs.delete(target.path, /* recursive= */ false)
      FileContext.getFileContext(target.fs.getUri, conf).rename(source.path, target.path, Rename.NONE)
    }
  }

  /** The path with links resolved, where the file system has links. */
  def resolved(directory: Path, conf: Configuration): Path = {
    val fs = directory.getFileSystem(conf)
    // From text, which leaves no slash at the end.
    if (Place.isLocal(fs)) new Path(LocalFiles.of(directory).toRealPath().toUri.toString)
    else fs.resolvePath(directory)
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
        // A custom local file system gets the file to write, once nobody else can have created it.
        if (place.isLocal) LocalFiles.make(place.local)
        place.raw.create(place.path, permission, place.isLocal, BufferBytes, replication, block, null)
      }
    catch {
      case there: IOException if isThere(there) => throw PmeErrors.placeTaken(place.path.toString, there)
    }

  private[storage] def isThere(failed: IOException): Boolean = failed match {
    case _: FileAlreadyExistsException | _: java.nio.file.FileAlreadyExistsException => true
    // HDFS keeps a file open for a while if the process that was writing it was killed.
    case remote: RemoteException => remote.getClassName == OpenForAnother
    case _ => false
  }

  private val OpenForAnother = "org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException"

  private val BufferBytes = 1024 * 1024
}

/** A path behind mount points, if there are any, in an existing directory. */
private[storage] final class Place(val path: Path, val fs: FileSystem) {

  /** Without Hadoop's checksum files: Hadoop overwrites those in place, even if they are links. */
  def raw: FileSystem = Place.unchecked(fs)
  def scheme: String = fs.getUri.getScheme
  def isLocal: Boolean = Place.isLocal(fs)
  def local: java.nio.file.Path = LocalFiles.of(path)
  def blockBytes: Long = fs.getDefaultBlockSize(path)
}

private[storage] object Place {
  val Hdfs = "hdfs"

  def of(path: Path, conf: Configuration): Place = {
    val fs = path.getFileSystem(conf)
    // In an object store a directory need not exist.
    val parent =
      try fs.resolvePath(path.getParent)
      catch { case _: java.io.FileNotFoundException => fs.makeQualified(path.getParent) }
    val real = new Path(parent, path.getName)
    new Place(real, real.getFileSystem(conf))
  }

  def isLocal(fs: FileSystem): Boolean = fs.getUri.getScheme == "file"

  /** The file system without checksum files next to its files. */
  def unchecked(fs: FileSystem): FileSystem = fs match {
    case checked: ChecksumFileSystem => checked.getRawFileSystem
    case other => other
  }

  /** Whether it is Hadoop's own class, which only writes to the disk. */
  def isHadoops(fs: FileSystem): Boolean =
    isLocal(fs) && Set[Class[_]](classOf[LocalFileSystem], classOf[RawLocalFileSystem]).contains(fs.getClass)
}

/**
 * Finds links among the directories of a table. Listings follow them, which is right for readers, but a run that
 * changes files would change those of another place.
 */
object LinkedDirectories {

  /**
   * @param table the table as the user named it: a directory, which may be a link, or one file. The path above it is
   *   not checked
   * @param files the files below it
   */
  def first(table: Path, files: Seq[Path], conf: Configuration): Option[Path] = {
    // Compares depths: a file is not above itself, and the walk ends however a listing spells the table's name.
    def upTo(directory: Path) =
      Iterator.iterate(directory)(_.getParent).takeWhile(one => one != null && one.depth > table.depth)
    files.map(_.getParent).distinct.flatMap(upTo).distinct.find(OwnFiles.find(_, conf) == Found.Other)
  }
}
