package io.pmeparquet.orc.tail

import java.io.{Closeable, EOFException}

import org.apache.hadoop.fs.{FSDataInputStream, FSInputChecker}

/** Reads parts of one file; the caller has bounded their lengths. For one thread. */
private[tail] class OrcBytes(fileLength: Long, open: () => FSDataInputStream) extends Closeable {
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

/** Those of a file that has not been written yet: the bytes of another one up to an offset, and another end. */
private[tail] final class SplicedBytes(before: OrcBytes, from: Long, end: Array[Byte])
    extends OrcBytes(
      from + end.length,
      () => throw new IllegalStateException("internal error: no such file")
    ) {

  override def read(offset: Long, length: Int): Array[Byte] =
    if (offset >= from)
      java.util.Arrays.copyOfRange(end, (offset - from).toInt, (offset - from).toInt + length)
    else if (offset + length <= from) before.read(offset, length)
    else before.read(offset, (from - offset).toInt) ++ end.take((offset + length - from).toInt)
}
