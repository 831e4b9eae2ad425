package io.pmeparquet.parquet.storage

import java.io.{ByteArrayOutputStream, FileNotFoundException, IOException}
import java.net.URI
import java.util.concurrent.ConcurrentHashMap

import scala.collection.concurrent.TrieMap
import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/**
 * An object store in memory, for any scheme: objects appear when they are closed. Its
 * bucket (the authority of paths) says what it can, and when it stops.
 */
class MemoryStore extends FileSystem {
  private var uri: URI = _
  private def bucket = MemoryStore.bucket(uri.getAuthority)

  override def initialize(name: URI, conf: Configuration): Unit = {
    super.initialize(name, conf)
    uri = URI.create(s"${name.getScheme}://${name.getAuthority}")
  }
  override def getUri: URI = uri
  override def getScheme: String = uri.getScheme
  override def getWorkingDirectory: Path = new Path(uri.toString, "/")
  override def setWorkingDirectory(directory: Path): Unit = ()
  override def mkdirs(path: Path, permission: FsPermission): Boolean = {
    bucket.directories.put(key(path), ())
    true
  }

  override def hasPathCapability(path: Path, capability: String): Boolean =
    bucket.capabilities(capability) || super.hasPathCapability(path, capability)

  override def open(path: Path, buffer: Int): FSDataInputStream = {
    bucket.ask()
    new FSDataInputStream(new MemoryInput(bucket.objects.getOrElse(key(path), missing(path)).bytes))
  }

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      buffer: Int,
      replication: Short,
      block: Long,
      progress: Progressable
  ): FSDataOutputStream = {
    if (!overwrite && bucket.objects.contains(key(path))) throw new FileAlreadyExistsException(path.toString)
    // Google's connector has a condition in this request, S3A has looked only before.
    new FSDataOutputStream(new MemoryUpload(bucket, key(path), !overwrite && uri.getScheme == "gs"), null)
  }

  override def createFile(path: Path): FSDataOutputStreamBuilder[_, _] = new MemoryBuilder(this, path)

  /** As S3A does: a condition that failed is no `FileAlreadyExistsException`. */
  private[storage] def createConditionally(path: Path): FSDataOutputStream =
    new FSDataOutputStream(new MemoryUpload(bucket, key(path), isConditional = true), null)

  override def append(path: Path, buffer: Int, progress: Progressable): FSDataOutputStream =
    throw new UnsupportedOperationException("append")

  override def rename(from: Path, to: Path): Boolean = bucket.change {
    val inside = if (isAbove(to)) new Path(to, from.getName) else to
    val moved = bucket.objects(key(from))
    val isFree = bucket.objects.putIfAbsent(key(inside), moved).isEmpty
    if (isFree) bucket.objects.remove(key(from))
    isFree
  }

  override def delete(path: Path, recursive: Boolean): Boolean = {
    val found =
      bucket.objects.keys.filter(one => one == key(path) || one.startsWith(below(path))).toSeq.sorted
    if (!recursive && found.exists(_ != key(path))) throw new IOException(s"$path is not empty")
    bucket.directories.remove(key(path))
    found.foreach(one => bucket.change(bucket.objects.remove(one)))
    found.nonEmpty
  }

  override def listStatus(path: Path): Array[FileStatus] = {
    bucket.ask()
    val names = bucket.objects.keys.filter(_.startsWith(below(path))).map(_.substring(below(path).length))
    if (!isAbove(path)) missing(path)
    val found = names.map(_.takeWhile(_ != '/')).toSeq.distinct.sorted.map(new Path(path, _))
    bucket.named()
    found.filter(one => bucket.objects.contains(key(one)) || isAbove(one)).map(status(_)).toArray
  }

  /** In one request, as stores list all objects below a prefix: no directory can be missed meanwhile. */
  override def listFiles(path: Path, recursive: Boolean): RemoteIterator[LocatedFileStatus] =
    if (!recursive) super.listFiles(path, recursive)
    else {
      bucket.ask()
      val found =
        bucket.objects
          .readOnlySnapshot()
          .toSeq
          .filter(_._1.startsWith(below(path)))
          .sortBy(_._1)
          .map { case (key, one) =>
            val place = new Path(uri.toString, key)
            new LocatedFileStatus(
              new FileStatus(one.bytes.length.toLong, false, 1, 1024, one.modified, place),
              Array.empty[BlockLocation]
            )
          }
          .iterator
      new RemoteIterator[LocatedFileStatus] {
        override def hasNext: Boolean = found.hasNext
        override def next(): LocatedFileStatus = found.next()
      }
    }

  override def getFileStatus(path: Path): FileStatus = {
    bucket.ask()
    status(path)
  }

  private def status(path: Path): FileStatus = {
    val place = makeQualified(path)
    bucket.objects.get(key(path)) match {
      case Some(found) => new FileStatus(found.bytes.length.toLong, false, 1, 1024, found.modified, place)
      case None if isAbove(path) => new FileStatus(0, true, 0, 0, 0, place)
      case None => missing(path)
    }
  }

  private def isAbove(path: Path) =
    bucket.directories.contains(key(path)) || bucket.objects.keys.exists(_.startsWith(below(path)))
  private def key(path: Path) = path.toUri.getPath
  private def below(path: Path) = key(path).stripSuffix("/") + "/"
  private def missing(path: Path): Nothing = throw new FileNotFoundException(path.toString)
}

object MemoryStore {
  val Conditional = "fs.option.create.conditional.overwrite"

  private val buckets = new ConcurrentHashMap[String, Bucket]
  def bucket(name: String): Bucket = buckets.computeIfAbsent(name, _ => new Bucket)

  /** Hadoop's settings for these schemes. */
  def conf(schemes: String*): Configuration = {
    val conf = new Configuration(false)
    schemes.foreach { scheme =>
      conf.set(s"fs.$scheme.impl", classOf[MemoryStore].getName)
      conf.set(s"fs.$scheme.impl.disable.cache", "true")
    }
    conf
  }

  final case class Stored(bytes: Array[Byte], modified: Long)

  /** A process that was killed: nothing that it still tries arrives. */
  final class Killed extends Error("killed")

  final class Bucket {
    val objects = TrieMap.empty[String, Stored]
    val directories = TrieMap.empty[String, Unit]
    @volatile var capabilities: Set[String] = Set(Conditional)

    /** Whether the client knows the condition, whatever it claims. */
    @volatile var knows = true

    /** Whether conditions of writes count. */
    @volatile var obeys = true

    /** Whether the next object that is created is there, and its creator learns of a failure. */
    @volatile var losesAnswer = false

    /** Whether the second half of what is written fails. */
    @volatile var breaks = false

    /** Called in a listing when its names are known, and before their files are looked at, as a local file system does. */
    @volatile var named: () => Unit = () => ()

    /** Called before each request. */
    @volatile var before: () => Unit = () => ()
    @volatile var requests = 0
    @volatile var changes = 0
    private var left = Int.MaxValue

    /** Lets a process make this many changes, and kills it when it tries the next. */
    def killAfter(number: Int): Unit = synchronized { left = number }
    def revive(): Unit = synchronized { left = Int.MaxValue }
    def ask(): Unit = {
      before()
      synchronized {
        if (left < 0) throw new Killed
        requests += 1
      }
    }

    def change[A](made: => A): A = {
      before()
      synchronized {
        if (left <= 0) {
          left = -1
          throw new Killed
        }
        left -= 1
        requests += 1
        changes += 1
        made
      }
    }
    def names: Set[String] = objects.keySet.toSet
    def put(key: String, bytes: Array[Byte], modified: Long = System.currentTimeMillis): Unit =
      objects.put(key, Stored(bytes, modified))
  }
}

private final class MemoryBuilder(store: MemoryStore, path: Path)
    extends FSDataOutputStreamBuilder[FSDataOutputStream, MemoryBuilder](store, path) {
  override def getThisBuilder: MemoryBuilder = this
  override def build(): FSDataOutputStream = {
    val known =
      if (MemoryStore.bucket(store.getUri.getAuthority).knows) Set(MemoryStore.Conditional)
      else Set.empty[String]
    rejectUnknownMandatoryKeys(known.asJava, s"for $path")
    if (getMandatoryKeys.isEmpty) throw new IllegalStateException("it would overwrite")
    store.createConditionally(path)
  }
}

private final class MemoryUpload(bucket: MemoryStore.Bucket, key: String, isConditional: Boolean)
    extends ByteArrayOutputStream
    with Abortable {
  private var isOpen = true

  override def write(bytes: Array[Byte], from: Int, length: Int): Unit = {
    super.write(bytes, from, if (bucket.breaks) length / 2 else length)
    if (bucket.breaks) throw new IllegalStateException("the disk of the buffer is full")
  }

  override def close(): Unit = if (isOpen) {
    isOpen = false
    bucket.change {
      val stored = MemoryStore.Stored(toByteArray, System.currentTimeMillis)
      if (!isConditional || !bucket.obeys) bucket.objects.put(key, stored)
      else if (bucket.objects.putIfAbsent(key, stored).isDefined) throw new PathIOException(key, "412")
    }
    if (bucket.losesAnswer) {
      bucket.losesAnswer = false
      throw new IOException("no answer")
    }
  }

  override def abort(): Abortable.AbortableResult = {
    isOpen = false
    null
  }
}

private final class MemoryInput(bytes: Array[Byte]) extends FSInputStream {
  private var at = 0
  override def seek(position: Long): Unit = at = position.toInt
  override def getPos: Long = at.toLong
  override def seekToNewSource(position: Long): Boolean = false
  override def read(): Int = if (at < bytes.length) { at += 1; bytes(at - 1) & 0xff }
  else -1
}
