package io.pmeparquet.orc.tail

import java.io.{Closeable, EOFException}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FSInputChecker, Path}

/**
 * An ORC file that is open to be looked at: it is opened once for its end and the footers of its stripes. For one thread.
 *
 * @param length of the file, in bytes, as listed: ORC's reader must be given the same
 */
final class OpenedOrc(val path: Path, val length: Long, conf: Configuration) extends Closeable {
  private val bytes = new OrcBytes(path, length, conf)

  /** @throws io.pmeparquet.PmeException if the file is damaged or contradicts itself */
  lazy val tail: OrcTail = OrcTail.read(path, length, bytes)

  /**
   * Checks the stripes that begin in a part of the file, as ORC's reader chooses them ([[StripeCheck]]).
   *
   * @param start the first byte of the part
   * @param partLength its bytes
   * @throws io.pmeparquet.PmeException if a footer is damaged or contradicts the file's
   */
  def checkStripes(start: Long, partLength: Long): Unit =
    StripeCheck.requireFooters(tail, tail.stripesIn(start, partLength), bytes)

  /**
   * Checks the statistics of stripes that everybody can read ([[StripeCheck]]).
   *
   * @throws io.pmeparquet.PmeException if they are damaged, or not of all stripes and columns
   */
  def checkStripeStatistics(): Unit = StripeCheck.requireStatistics(tail, bytes)

  /** The columns that have Bloom filters in the first stripe, by their ids. */
  def bloomColumns: Set[Int] = StripeCheck.bloomColumns(tail, bytes)

  override def close(): Unit = bytes.close()
}

object OpenedOrc {

  /** Opens a file, and closes it after this use. */
  def using[A](path: Path, length: Long, conf: Configuration)(use: OpenedOrc => A): A = {
    val file = new OpenedOrc(path, length, conf)
    try use(file)
    finally file.close()
  }
}

/** Reads parts of one file; the caller has bounded their lengths. For one thread. */
private[tail] final class OrcBytes(path: Path, fileLength: Long, conf: Configuration) extends Closeable {
  private var stream: FSDataInputStream = _

  def read(offset: Long, length: Int): Array[Byte] = {
    if (offset < 0 || length < 0 || offset > fileLength - length)
      throw Damage(s"the file has $fileLength bytes, but refers to $length bytes from $offset on")
    if (stream == null) stream = path.getFileSystem(conf).open(path)
    val bytes = new Array[Byte](length)
    try fill(offset, bytes)
    catch { case cut: EOFException => throw new Damage("the data ends too early", cause = cut) }
    bytes
  }

  private def fill(offset: Long, bytes: Array[Byte]): Unit =
    // Hadoop's checksummed file systems reopen the file and its checksums for each read by position.
    if (stream.getWrappedStream.isInstanceOf[FSInputChecker]) {
      stream.seek(offset)
      stream.readFully(bytes)
    } else stream.readFully(offset, bytes)

  override def close(): Unit = if (stream != null) stream.close()
}
