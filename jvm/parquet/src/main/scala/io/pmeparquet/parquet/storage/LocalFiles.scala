package io.pmeparquet.parquet.storage

import java.io.{BufferedOutputStream, IOException, OutputStream}
import java.nio.channels.{Channels, FileChannel}
import java.nio.file._
import java.nio.file.attribute._
import java.nio.file.StandardOpenOption.{CREATE_NEW, WRITE}

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.{FSDataOutputStream, StreamCapabilities, Syncable}
import org.apache.hadoop.fs.permission.FsPermission

/**
 * Our own files on a local disk. Hadoop's local file system checks whether a file exists and then opens it, which
 * follows links; the kernel does both at once, and follows none (`O_EXCL`).
 */
private[parquet] object LocalFiles {
  private val NoLinks = LinkOption.NOFOLLOW_LINKS

  /** From the path alone, since its name may have characters that URIs escape. */
  def of(path: org.apache.hadoop.fs.Path): Path = new java.io.File(path.toUri.getPath).toPath

  def create(file: Path): FSDataOutputStream = {
    val channel = FileChannel.open(file, CREATE_NEW, WRITE, NoLinks)
    new FSDataOutputStream(new LocalOutput(channel), null)
  }

  def make(file: Path): Unit = {
    Files.createFile(file)
    ()
  }

  def makeDirectory(directory: Path): Unit = {
    Files.createDirectory(directory)
    ()
  }

  def find(path: Path): Found =
    try {
      val found = Files.readAttributes(path, classOf[BasicFileAttributes], NoLinks)
      if (found.isDirectory) Found.Directory
      else if (found.isRegularFile) Found.File(found.size)
      else Found.Other
    } catch { case _: NoSuchFileException => Found.Nothing }

  /** @return whether the disk has permission bits */
  def setPermission(file: Path, permission: FsPermission): Boolean = {
    val view = Files.getFileAttributeView(file, classOf[PosixFileAttributeView], NoLinks)
    if (view != null) {
      val bits = Seq(permission.getUserAction, permission.getGroupAction, permission.getOtherAction)
      view.setPermissions(PosixFilePermissions.fromString(bits.map(_.SYMBOL).mkString))
    }
    view != null
  }

  /** Syncs it to the disk. */
  def force(file: Path): Unit = {
    val channel = FileChannel.open(file, WRITE, NoLinks)
    try channel.force( /* metaData= */ true)
    finally channel.close()
  }

  /** Leaves an existing target alone, unless it is an empty directory. */
  def move(from: Path, to: Path): Unit = {
    Files.move(from, to, StandardCopyOption.ATOMIC_MOVE)
    ()
  }

  /** A link is made in one step, and fails where something is; a rename would replace it. */
  def publish(from: Path, to: Path): Unit = {
    Files.createLink(to, from)
    Files.delete(from)
    val directory = FileChannel.open(to.getParent, StandardOpenOption.READ)
    try directory.force( /* metaData= */ true)
    finally directory.close()
  }

  def delete(path: Path): Unit = opened(path.getParent) {
    case secure: SecureDirectoryStream[Path] => deleteIn(secure, path.getFileName)
    case _ => deleteByName(path)
  }

  def clear(directory: Path, keep: Set[String]): Unit = {
    def unwanted(stream: DirectoryStream[Path]) =
      stream.asScala.map(_.getFileName).filterNot(name => keep(name.toString)).toList
    opened(directory.getParent) {
      case secure: SecureDirectoryStream[Path] =>
        val own = secure.newDirectoryStream(directory.getFileName, NoLinks)
        try unwanted(own).foreach(deleteIn(own, _))
        finally own.close()
      case _ => opened(directory)(unwanted).map(directory.resolve).foreach(deleteByName)
    }
  }

  private def opened[A](directory: Path)(use: DirectoryStream[Path] => A): A = {
    val stream = Files.newDirectoryStream(directory)
    try use(stream)
    finally stream.close()
  }

  /**
   * Starts at the opened directory, so that a link that replaces a directory meanwhile leads nowhere. Files go before
   * directories: a task that misses what it wrote then misses the mark of its run as well, and can say that it is over.
   */
  private def deleteIn(directory: SecureDirectoryStream[Path], name: Path): Unit =
    try
      if (!isDirectory(directory, name)) directory.deleteFile(name)
      else {
        val inner = directory.newDirectoryStream(name, NoLinks)
        try {
          val (directories, files) = inner.asScala.map(_.getFileName).toList.partition(isDirectory(inner, _))
          (files ++ directories).foreach(deleteIn(inner, _))
        } finally inner.close()
        directory.deleteDirectory(name)
      }
    catch { case _: NoSuchFileException => () }

  private def isDirectory(directory: SecureDirectoryStream[Path], name: Path) =
    try
      directory
        .getFileAttributeView(name, classOf[BasicFileAttributeView], NoLinks)
        .readAttributes()
        .isDirectory
    catch { case _: NoSuchFileException => false }

  private def deleteByName(path: Path): Unit = {
    if (find(path) == Found.Directory) {
      val (directories, files) = opened(path)(_.asScala.toList).partition(find(_) == Found.Directory)
      (files ++ directories).foreach(deleteByName)
    }
    Files.deleteIfExists(path)
    ()
  }

  /** Can sync, unlike Hadoop's local file system with checksums. */
  private final class LocalOutput(channel: FileChannel)
      extends OutputStream
      with Syncable
      with StreamCapabilities {
    private val out = new BufferedOutputStream(Channels.newOutputStream(channel), BufferBytes)

    override def write(value: Int): Unit = out.write(value)
    override def write(bytes: Array[Byte], from: Int, length: Int): Unit = out.write(bytes, from, length)
    override def flush(): Unit = out.flush()
    override def hflush(): Unit = out.flush()
    override def hsync(): Unit = {
      out.flush()
      channel.force( /* metaData= */ true)
    }
    override def hasCapability(name: String): Boolean =
      StreamCapabilities.HSYNC.equalsIgnoreCase(name)

    @throws[IOException]
    override def close(): Unit = try out.flush()
    finally channel.close()
  }

  private val BufferBytes = 64 * 1024
}

/** What exists at a path. */
private[pmeparquet] sealed trait Found

private[pmeparquet] object Found {
  case object Nothing extends Found
  case object Directory extends Found
  final case class File(length: Long) extends Found

  /** A link, or anything else that is neither a file nor a directory. */
  case object Other extends Found
}
