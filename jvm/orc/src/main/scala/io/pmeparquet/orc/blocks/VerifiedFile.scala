package io.pmeparquet.orc.blocks

import java.io.{Closeable, EOFException}
import java.util.{LinkedHashMap, Map => JavaMap}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FSInputStream, Path}

import io.pmeparquet.{BlockDigests, PmeErrors}

/**
 * A file that gives out no byte before its block is the one that a snapshot lists. A block is read whole, compared, and
 * then served from memory, so nobody can change it between the comparison and its use. ''Executor only'', but for
 * schemas.
 */
final class VerifiedFile(val path: Path, blocks: BlockDigests, conf: Configuration) extends Closeable {
  import VerifiedFile._

  def length: Long = blocks.length

  private val kept = new LinkedHashMap[Int, Array[Byte]](MostKept * 2, 0.75f, /* accessOrder= */ true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[Int, Array[Byte]]): Boolean = size > MostKept
  }
  private var stream: Option[FSDataInputStream] = None
  private var readers = 0

  /** Opens it to be read. All streams share its blocks, which it forgets with the last one. */
  def open(): FSDataInputStream = synchronized {
    readers += 1
    new FSDataInputStream(new Bytes)
  }

  private def block(number: Int): Array[Byte] = synchronized {
    val known = kept.get(number)
    if (known != null) known
    else {
      val bytes = read(number)
      if (!blocks.isBlock(number, bytes)) throw mismatch("its bytes are not those that were sealed")
      kept.put(number, bytes)
      bytes
    }
  }

  private def read(number: Int): Array[Byte] = {
    if (stream.isEmpty) stream = Some(path.getFileSystem(conf).open(path))
    val bytes = new Array[Byte](blocks.sizeOf(number))
    try {
      // Hadoop's checksummed file systems reopen the file and its checksums for each read by position.
      stream.get.seek(blocks.start(number))
      stream.get.readFully(bytes)
    } catch { case _: EOFException => throw mismatch("it is shorter than when it was sealed") }
    bytes
  }

  private def mismatch(why: String) = PmeErrors.snapshotMismatch(path.toString, why)

  private def release(): Unit = synchronized {
    if (readers > 0) readers -= 1
    if (readers == 0) close()
  }

  /** Forgets its blocks, and closes the file, also if a reader has left a stream open. It can be opened again. */
  override def close(): Unit = synchronized {
    readers = 0
    kept.clear()
    stream.foreach(_.close())
    stream = None
  }

  /** One reader's place in the file. */
  private final class Bytes extends FSInputStream {
    private var position = 0L
    private var isClosed = false

    override def getPos: Long = position

    override def seek(to: Long): Unit = {
      if (to < 0 || to > blocks.length) throw new EOFException(s"$path has no byte $to")
      position = to
    }

    override def seekToNewSource(to: Long): Boolean = false

    override def read(): Int = {
      val one = new Array[Byte](1)
      if (read(one, 0, 1) < 0) -1 else one(0) & 0xff
    }

    override def read(into: Array[Byte], from: Int, count: Int): Int = {
      val some = read(position, into, from, count)
      if (some > 0) position += some
      some
    }

    override def read(at: Long, into: Array[Byte], from: Int, count: Int): Int =
      if (isClosed) throw new java.io.IOException(s"the stream of $path is closed")
      else if (count == 0) 0
      else if (at < 0 || at >= blocks.length) -1
      else {
        val number = blocks.blockOf(at)
        val bytes = block(number)
        val first = (at - blocks.start(number)).toInt
        val some = count.min(bytes.length - first)
        System.arraycopy(bytes, first, into, from, some)
        some
      }

    override def available(): Int = (blocks.length - position).min(Int.MaxValue.toLong).toInt

    override def close(): Unit = if (!isClosed) {
      isClosed = true
      release()
    }
  }

  override def toString: String = s"VerifiedFile($path)"
}

private object VerifiedFile {

  /** ORC's reader goes forwards in a stripe, and returns to where its streams begin. */
  val MostKept = 4
}
