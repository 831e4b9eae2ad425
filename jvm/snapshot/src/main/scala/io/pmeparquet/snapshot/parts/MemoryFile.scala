package io.pmeparquet.snapshot.parts

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer

import org.apache.parquet.io.{
  DelegatingSeekableInputStream,
  InputFile,
  OutputFile,
  PositionOutputStream,
  SeekableInputStream
}

/** A Parquet file that is written in memory, so that its digest is known before it has a place. */
private[parts] final class MemoryOutput extends OutputFile {
  private val bytes = new ByteArrayOutputStream

  def toArray: Array[Byte] = bytes.toByteArray

  override def create(blockSizeHint: Long): PositionOutputStream = new PositionOutputStream {
    override def getPos: Long = bytes.size.toLong
    override def write(value: Int): Unit = bytes.write(value)
    override def write(some: Array[Byte], from: Int, length: Int): Unit = bytes.write(some, from, length)
  }
  override def createOrOverwrite(blockSizeHint: Long): PositionOutputStream = create(blockSizeHint)
  override def supportsBlockSize(): Boolean = false
  override def defaultBlockSize(): Long = 0
}

/** A Parquet file that has been read whole, so that what was checked is what is parsed. */
private[parts] final class MemoryInput(bytes: Array[Byte]) extends InputFile {
  override def getLength: Long = bytes.length.toLong

  override def newStream(): SeekableInputStream = {
    val buffer = ByteBuffer.wrap(bytes)
    val in = new java.io.InputStream {
      override def read(): Int = if (buffer.hasRemaining) buffer.get() & 0xff else -1
      override def read(into: Array[Byte], from: Int, length: Int): Int =
        if (!buffer.hasRemaining && length > 0) -1
        else {
          val some = length.min(buffer.remaining)
          buffer.get(into, from, some)
          some
        }
    }
    new DelegatingSeekableInputStream(in) {
      override def getPos: Long = buffer.position().toLong
      override def seek(position: Long): Unit = {
        buffer.position(position.toInt)
        ()
      }
    }
  }
}
