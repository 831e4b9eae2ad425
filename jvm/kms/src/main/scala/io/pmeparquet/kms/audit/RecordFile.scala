package io.pmeparquet.kms.audit

import java.io.IOException
import java.nio.channels.{FileChannel, FileLock, OverlappingFileLockException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{
  FileSystems,
  Files,
  LinkOption,
  OpenOption,
  Path,
  StandardCopyOption,
  StandardOpenOption
}
import java.nio.file.attribute.{FileAttribute, PosixFilePermissions}
import java.nio.ByteBuffer
import java.time.Instant
import java.util

import scala.annotation.tailrec
import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import io.pmeparquet.Sha256

/**
 * A file of JSON lines, each with its number and the SHA-256 of the line before it, so that a line that was changed, left
 * out or put elsewhere is noticed. Several processes append to one file. A line is on the disk before [[append]] returns.
 *
 * Nothing in the file can show that its last lines were cut off after its writer ended. So the writer's first line says
 * `begin` and its last one `end`, and a writer that still runs finds its own lines gone.
 *
 * @param path absolute
 * @param mostBytes a longer file is renamed, to its name with the number of its last line, and a new one goes on
 */
private[audit] final class RecordFile(path: Path, mostBytes: Long, now: () => Instant) {
  import RecordFile._

  /** The last line of the file, as this process left or found it. */
  private var last: Option[Line] = None

  /** The end of the file after `last`; nobody else has written if it is still there. */
  private var end = 0L

  /**
   * @param fill adds the members of the line
   * @throws java.io.IOException if the line is not on the disk, or if lines that this process has seen are gone
   */
  def append(event: String)(fill: ObjectNode => Unit): Unit = synchronized {
    locked {
      val channel = FileChannel.open(path, Opened, Own: _*)
      try {
        require(Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS), "it is not a file")
        write(channel, event, fill)
        if (channel.size >= mostBytes) setAside()
      } finally channel.close()
    }
  }

  private def write(channel: FileChannel, event: String, fill: ObjectNode => Unit): Unit = {
    val size = channel.size
    val before = if (last.isDefined && size == end) last else found(channel, size)
    val node = KeyEvent.mapper.createObjectNode
    node.put("number", before.fold(0L)(_.number) + 1).put("time", now().toString).put("event", event)
    fill(node)
    node.put("previous", before.fold(NoLine)(_.digest))
    val text = KeyEvent.mapper.writeValueAsString(node)
    // A process that was killed while it wrote has left a part of a line. Nobody got its key.
    val open = size > 0 && !endsLine(channel, size)
    val bytes = ByteBuffer.wrap(((if (open) "\n" else "") + text + "\n").getBytes(UTF_8))
    channel.position(size)
    while (bytes.hasRemaining) channel.write(bytes)
    channel.force(true)
    last = Some(Line(node.path("number").asLong, Sha256.ofText(text)))
    end = channel.size
  }

  /** The last line, which others may have written since. */
  private def found(channel: FileChannel, size: Long): Option[Line] = {
    val there = if (size > 0) Some(tailOf(channel, size)) else newestSetAside.map(ofFile)
    last.foreach { ours =>
      require(
        there.exists(line => line.number > ours.number || line == ours),
        s"it lacks line ${ours.number}, which this process has written or read"
      )
    }
    there
  }

  private def ofFile(file: Path): Line = {
    val channel = FileChannel.open(file, StandardOpenOption.READ)
    try tailOf(channel, channel.size)
    finally channel.close()
  }

  private def setAside(): Unit = {
    val to = path.resolveSibling(f"${path.getFileName}%s.${last.get.number}%012d")
    require(!Files.exists(to, LinkOption.NOFOLLOW_LINKS), s"$to is there already")
    Files.move(path, to, StandardCopyOption.ATOMIC_MOVE)
    // Another process may write and set aside before this one comes back.
    end = -1
  }

  private def newestSetAside: Option[Path] = {
    val name = s"${path.getFileName}."
    val files = Files.list(path.getParent)
    try
      files.iterator.asScala.toList
        .map(_.getFileName.toString)
        .filter(other => other.startsWith(name) && other.drop(name.length).matches("\\d{12,18}"))
        .sortBy(other => (other.length, other))
        .lastOption
        .map(path.resolveSibling)
    finally files.close()
  }

  private def endsLine(channel: FileChannel, size: Long): Boolean =
    bytesOf(channel, size - 1, size).head == '\n'

  /** The last line of a file, also where it is a part of one. That has no number. */
  private def tailOf(channel: FileChannel, size: Long): Line = {
    val lines = new String(bytesOf(channel, (size - MaxTail).max(0), size), UTF_8).split('\n')
    Line(
      lines.reverseIterator.flatMap(numberOf).take(1).toList.headOption.getOrElse {
        throw new IOException("it is not a record of uses of keys")
      },
      Sha256.ofText(lines.last)
    )
  }

  private def numberOf(line: String): Option[Long] =
    try Option(KeyEvent.mapper.readTree(line)).map(_.path("number")).filter(_.isIntegralNumber).map(_.asLong)
    catch { case _: IOException => None }

  private def bytesOf(channel: FileChannel, from: Long, until: Long): Array[Byte] = {
    val bytes = ByteBuffer.allocate((until - from).toInt)
    while (bytes.hasRemaining && channel.read(bytes, from + bytes.position()) >= 0) ()
    bytes.array
  }

  /** With the file's lock, which other processes respect. */
  private def locked[A](body: => A): A = {
    val file = path.resolveSibling(s"${path.getFileName}.lock")
    val channel = FileChannel.open(file, Opened, Own: _*)
    try {
      val lock = waitFor(channel, WaitMillis)
      try body
      finally lock.release()
    } finally channel.close()
  }

  @tailrec
  private def waitFor(channel: FileChannel, leftMillis: Long): FileLock = {
    val lock =
      try channel.tryLock()
      // Another copy of this class in the same process has it.
      catch { case _: OverlappingFileLockException => null }
    if (lock != null) lock
    else {
      require(leftMillis > 0, "another process keeps it locked")
      Thread.sleep(PauseMillis)
      waitFor(channel, leftMillis - PauseMillis)
    }
  }

  private def require(holds: Boolean, why: => String): Unit = if (!holds) throw new IOException(why)
}

private[audit] object RecordFile {

  /** What the first line says of the line before it. */
  val NoLine: String = "0" * 64

  private final case class Line(number: Long, digest: String)

  private val Opened = util.Set.of[OpenOption](
    StandardOpenOption.CREATE,
    StandardOpenOption.READ,
    StandardOpenOption.WRITE,
    LinkOption.NOFOLLOW_LINKS
  )

  /** Nobody else may read it, where files have such permissions. */
  private lazy val Own: Seq[FileAttribute[_]] =
    if (FileSystems.getDefault.supportedFileAttributeViews.contains("posix"))
      Seq(PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))
    else Nil
  private val MaxTail = 1L << 20
  private val PauseMillis = 20L
  private val WaitMillis = 10000L
}
