package io.pmeparquet.orc.tail

import java.io.{Closeable, EOFException}

import org.apache.hadoop.fs.{FSDataInputStream, FSInputChecker}

/** Reads parts of one file; the caller has bounded their lengths. For one thread. */
private[tail] final class OrcBytes(fileLength: Long, open: () => FSDataInputStream) extends Closeable {
  private var stream: FSDataInputStream = _

  def read(offset: Long, length: Int): Array[Byte] = {
    if (offset < 0 || length < 0 || offset > fileLength - length)
      throw Damage(s"the file has $fileLength bytes, but refers to $length bytes from $offset on")
    if (stream == null) stream = open()
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
