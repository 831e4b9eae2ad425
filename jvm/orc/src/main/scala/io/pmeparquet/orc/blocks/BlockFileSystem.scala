package io.pmeparquet.orc.blocks

import java.io.{Closeable, FileNotFoundException}
import java.net.URI
import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FSDataOutputStream, FileStatus, FileSystem, Path}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/**
 * Hands a [[VerifiedFile]] to Spark's ORC reader, and a [[HashedFile]] to its writer: both open whatever path they are
 * given, and nothing else can be put between them and a file. A path is `pme-blocks://ID/NAME`, where the id is of one
 * file that a task of this JVM has open, so it leads nowhere else. ''Executor only'', but for schemas.
 */
final class BlockFileSystem extends FileSystem {
  import BlockFileSystem._

  private var own: URI = _
  private var target: Target = _

  override def initialize(name: URI, conf: Configuration): Unit = {
    super.initialize(name, conf)
    own = URI.create(s"$Scheme://${name.getAuthority}")
    target = Option(places.get(name.getAuthority)).getOrElse {
      throw new FileNotFoundException(s"$name: no task of this process has this file open")
    }
  }

  override def getScheme: String = Scheme
  override def getUri: URI = own

  private def read: VerifiedFile = target match {
    case Read(file) => file
    case Write(file) => throw unsupported(s"reading $file, which is written")
  }

  private def written: HashedFile = target match {
    case Write(file) => file
    case Read(file) => throw unsupported(s"writing $file")
  }

  private def unsupported(what: String) = new UnsupportedOperationException(what)

  override def open(path: Path, bufferSize: Int): FSDataInputStream = read.open()

  override def getFileStatus(path: Path): FileStatus =
    new FileStatus(read.length, /* isdir= */ false, 1, getDefaultBlockSize(path), 0, path)

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = written.create { real =>
    written.fileSystem.create(real, permission, overwrite, bufferSize, replication, blockSize, progress)
  }

  // What a writer asks for to make the file.
  override def getDefaultReplication(path: Path): Short = target match {
    case Write(file) => file.fileSystem.getDefaultReplication(file.path)
    case Read(_) => 1
  }
  override def getDefaultBlockSize(path: Path): Long = target match {
    case Write(file) => file.fileSystem.getDefaultBlockSize(file.path)
    case Read(_) => DefaultBlockBytes
  }

  override def listStatus(path: Path): Array[FileStatus] = Array(getFileStatus(path))
  override def append(path: Path, bufferSize: Int, progress: Progressable): FSDataOutputStream =
    throw unsupported("append")
  override def rename(from: Path, to: Path): Boolean = throw unsupported("rename")
  override def delete(path: Path, recursive: Boolean): Boolean = throw unsupported("delete")
  override def mkdirs(path: Path, permission: FsPermission): Boolean = throw unsupported("mkdirs")
  override def setWorkingDirectory(directory: Path): Unit = ()
  override def getWorkingDirectory: Path = new Path(own.toString + "/")
}

object BlockFileSystem {
  private sealed trait Target
  private final case class Read(file: VerifiedFile) extends Target
  private final case class Write(file: HashedFile) extends Target

  private val Scheme = "pme-blocks"
  private val DefaultBlockBytes = 32L * 1024 * 1024
  private val places = new ConcurrentHashMap[String, Target]

  /** Lets whoever has this configuration open the paths of files that [[reading]] and [[writing]] give. */
  def prepare(conf: Configuration): Unit = {
    conf.setClass(s"fs.$Scheme.impl", classOf[BlockFileSystem], classOf[FileSystem])
    // Each path has a file system of its own.
    conf.setBoolean(s"fs.$Scheme.impl.disable.cache", true)
  }

  /** @param path by which the file can be opened until this is closed */
  final class Place private[BlockFileSystem] (val path: Path, id: String) extends Closeable {
    override def close(): Unit = places.remove(id) match {
      case Read(file) => file.close()
      case _ => ()
    }
  }

  def reading(file: VerifiedFile): Place = place(Read(file), file.path)
  def writing(file: HashedFile): Place = place(Write(file), file.path)

  private def place(target: Target, of: Path): Place = {
    val id = UUID.randomUUID.toString
    places.put(id, target)
    new Place(new Path(Scheme, id, s"/${of.getName}"), id)
  }
}
