package io.pmeparquet.kms.audit

import java.io.IOException
import java.nio.channels.{FileChannel, FileLock, OverlappingFileLockException}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.{
  FileSystems,
  Files,
  LinkOption,
  OpenOption,
  Path,
  StandardCopyOption,
  StandardOpenOption
}
import java.nio.file.attribute.{
  BasicFileAttributes,
  FileAttribute,
  PosixFileAttributeView,
  PosixFilePermission,
  PosixFilePermissions
}
import java.nio.ByteBuffer
import java.time.Instant
import java.util

import scala.annotation.tailrec
import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import io.pmeparquet.Sha256

/**
 * A file of JSON lines, each with its number and the SHA-256 of the line before it, so that a line that was changed, left
 * out or put elsewhere is noticed. Several processes append to one file. Lines are on the disk before [[append]] returns.
 *
 * Nothing in the file can show that its last lines were cut off after its writer ended. So the writer's first line says
 * `begin` and its last one `end`, and a writer that still runs finds its own lines gone. For one thread at a time.
 *
 * @param path absolute
 * @param mostBytes a longer file is renamed, to its name with the number of its last line, and a new one goes on
 */
private[audit] final class RecordFile(path: Path, mostBytes: Long, now: () => Instant) {
  import RecordFile._

  /** The last line of the file, as this process left or found it. */
  private var last: Option[Line] = None

  /** The file whose end that line was, and where; nobody else has written if it is still there. */
  private var end: Option[(AnyRef, Long)] = None

  private var lockedUntil = 0L

  /**
   * @param lines what kind of line each is, and what adds its members
   * @throws java.io.IOException if they are not all on the disk, or if lines that this process has seen are gone
   */
  def append(lines: Seq[(String, ObjectNode => Unit)]): Unit = locked {
    if (sizeOf(path) >= mostBytes) setAside()
    val channel = FileChannel.open(path, Opened, Own: _*)
    try {
      require(Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS), "it is not a file")
      require(!isOpenToAll(path), "everybody may write to it")
      write(channel, lines)
    } finally channel.close()
  }

  private def write(channel: FileChannel, lines: Seq[(String, ObjectNode => Unit)]): Unit = {
    val size = channel.size
    val (before, chain, isOpen) =
      if (last.isDefined && end.contains(keyOf(path) -> size)) (last, last.map(_.digest), false)
      else found(channel, size)
    var line = before.getOrElse(Line(0, NoLine))
    var previous = chain.getOrElse(NoLine)
    // A process that was killed while it wrote has left a part of a line. Nobody got its key.
    val text = new StringBuilder(if (isOpen) "\n" else "")
    lines.foreach { case (event, fill) =>
      val node = KeyEvent.mapper.createObjectNode
      node.put("number", line.number + 1).put("time", now().toString).put("event", event)
      fill(node)
      val written = KeyEvent.mapper.writeValueAsString(node.put("previous", previous))
      line = Line(line.number + 1, Sha256.ofText(written))
      previous = line.digest
      text.append(written).append('\n')
    }
    try {
      val bytes = ByteBuffer.wrap(text.toString.getBytes(UTF_8))
      channel.position(size)
      while (bytes.hasRemaining) channel.write(bytes)
      channel.force(true)
      if (size == 0) forceDirectory()
    } catch {
      // Without room for all of it, it would stay as a part of a line.
      case failed: IOException =>
        channel.truncate(size)
        throw failed
    }
    last = Some(line)
    end = Some(keyOf(path) -> channel.size)
  }

  /** The last line, which others may have written since, what the next line calls it, and whether it lacks its end. */
  private def found(channel: FileChannel, size: Long): (Option[Line], Option[String], Boolean) = {
    val tail = if (size > 0) tailOf(channel, size) else Tail(None, None)
    val whole = tail.whole.orElse(newestSetAside.flatMap(ofFile))
    last.foreach { ours =>
      require(
        whole.exists(line => line.number > ours.number || line == ours),
        s"it lacks line ${ours.number}, which this process has written or read"
      )
    }
    (whole, tail.part.orElse(whole.map(_.digest)), size > 0 && !endsLine(channel, size))
  }

  private def ofFile(file: Path): Option[Line] = {
    val channel = FileChannel.open(file, StandardOpenOption.READ)
    try tailOf(channel, channel.size).whole
    finally channel.close()
  }

  private def setAside(): Unit = {
    val number = ofFile(path).fold(0L)(_.number)
    val to = path.resolveSibling(f"${path.getFileName}%s.$number%012d")
    require(!Files.exists(to, LinkOption.NOFOLLOW_LINKS), s"$to is there already")
    Files.move(path, to, StandardCopyOption.ATOMIC_MOVE)
    forceDirectory()
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

  /** A name is on the disk when its directory is. */
  private def forceDirectory(): Unit = {
    val directory = FileChannel.open(path.getParent, StandardOpenOption.READ)
    try directory.force(true)
    finally directory.close()
  }

  /** With the file's lock, which other processes respect. */
  private def locked[A](body: => A): A = {
    require(System.nanoTime() >= lockedUntil || lockedUntil == 0, Busy)
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
      // Those who wait behind this one would each wait as long.
      if (leftMillis <= 0) lockedUntil = System.nanoTime() + WaitMillis * 1000 * 1000
      require(leftMillis > 0, Busy)
      Thread.sleep(PauseMillis)
      waitFor(channel, leftMillis - PauseMillis)
    }
  }
}

private[audit] object RecordFile {

  /** What the first line says of the line before it. */
  val NoLine: String = "0" * 64

  private final case class Line(number: Long, digest: String)

  /**
   * The end of a file.
   *
   * @param part the digest of a part of a line after the last whole one
   */
  private final case class Tail(whole: Option[Line], part: Option[String])

  private def tailOf(channel: FileChannel, size: Long): Tail = {
    val bytes = bytesOf(channel, (size - MaxTail).max(0), size)
    val text = new String(bytes, ISO_8859_1)
    val lines = text.stripSuffix("\n").split('\n')
    val number = lines.lastIndexWhere(numberOf(_).isDefined)
    if (number < 0 && (size > MaxTail || text.contains('\n')))
      throw new IOException("it is not a record of uses of keys")
    Tail(
      if (number < 0) None else numberOf(lines(number)).map(Line(_, digestOf(lines(number)))),
      if (number == lines.length - 1) None else Some(digestOf(lines.last))
    )
  }

  private def digestOf(line: String) = Sha256.hex(Sha256.ofBytes(line.getBytes(ISO_8859_1)))

  private def numberOf(line: String): Option[Long] =
    try Option(KeyEvent.mapper.readTree(line)).map(_.path("number")).filter(_.isIntegralNumber).map(_.asLong)
    catch { case _: IOException => None }

  private def endsLine(channel: FileChannel, size: Long): Boolean =
    bytesOf(channel, size - 1, size).head == '\n'

  private def bytesOf(channel: FileChannel, from: Long, until: Long): Array[Byte] = {
    val bytes = ByteBuffer.allocate((until - from).toInt)
    while (bytes.hasRemaining && channel.read(bytes, from + bytes.position()) >= 0) ()
    bytes.array
  }

  private def sizeOf(path: Path): Long =
    if (Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) Files.size(path) else 0L

  /** What stays the same when a file is renamed, and not when another one takes its name. */
  private def keyOf(path: Path): AnyRef =
    Option(Files.readAttributes(path, classOf[BasicFileAttributes]).fileKey).getOrElse(path)

  private def isOpenToAll(path: Path): Boolean =
    Option(Files.getFileAttributeView(path, classOf[PosixFileAttributeView], LinkOption.NOFOLLOW_LINKS))
      .exists(_.readAttributes.permissions.contains(PosixFilePermission.OTHERS_WRITE))

  private def require(holds: Boolean, why: => String): Unit = if (!holds) throw new IOException(why)

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

  private val Busy = "another process keeps it locked"
  private val MaxTail = 1L << 20
  private val PauseMillis = 20L
  private val WaitMillis = 10000L
}
