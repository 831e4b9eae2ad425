package io.pmeparquet.parquet.pages

import java.io.{Closeable, EOFException}

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FSDataInputStream

import io.pmeparquet.parquet.FileVersion
import io.pmeparquet.PmeErrors

/** A part of a file: `length` bytes from `offset` on. */
private[parquet] final case class Range(offset: Long, length: Int) {
  def end: Long = offset + length
}

/** Bytes of a file, wherever in an array they lie: byte `offset` of the file is `array(at)`. */
private[parquet] final class Segment(val array: Array[Byte], val at: Int, val offset: Long, val length: Int) {
  def end: Long = offset + length
  def until: Int = at + length

  /** The part of it that a range names. */
  def slice(range: Range): Segment = {
    if (range.offset < offset || range.end > end)
      throw new IllegalStateException(s"internal error: $range is not in $offset..$end")
    new Segment(array, at + (range.offset - offset).toInt, range.offset, range.length)
  }
}

/** Reads parts of one file, few and large: neighbours in one read. For one thread. */
private[parquet] final class FileBytes(val file: FileVersion, conf: Configuration, counters: ReadCounters)
    extends Closeable {
  private var stream: FSDataInputStream = _

  def read(range: Range): Segment = {
    if (range.offset < 0 || range.length < 0 || range.offset > file.length - range.length)
      throw PmeErrors.damaged(
        file.path.toString,
        s"bytes ${range.offset} to ${range.end} are spoken of where it has ${file.length}"
      )
    if (stream == null) stream = file.path.getFileSystem(conf).open(file.path)
    val bytes = new Array[Byte](range.length)
    try stream.readFully(range.offset, bytes)
    catch { case cut: EOFException => throw PmeErrors.damaged(file.path.toString, "it ends too early", cut) }
    counters.reads.increment()
    counters.bytes.add(range.length.toLong)
    new Segment(bytes, 0, range.offset, range.length)
  }

  /** @return the segment of each range, in their order */
  def readAll(ranges: Seq[Range]): Seq[Segment] = {
    val merged = FileBytes.merged(ranges)
    val segments = merged.map(read)
    ranges.map { range =>
      segments.find(segment => range.offset >= segment.offset && range.end <= segment.end).get.slice(range)
    }
  }

  override def close(): Unit = if (stream != null) stream.close()
}

private[parquet] object FileBytes {

  /** Reading on over so many bytes that nobody wants is quicker than another request to a store of objects. */
  private val MaxGapBytes = 64 * 1024

  /** Larger arrays are slow to get from the garbage collector, and larger reads gain nothing. */
  private val MaxMergedBytes = 16 * 1024 * 1024

  private[pages] def merged(ranges: Seq[Range]): Seq[Range] = {
    val result = mutable.ArrayBuffer.empty[Range]
    ranges.sortBy(_.offset).foreach { range =>
      result.lastOption match {
        case Some(last) if range.end <= last.end => ()
        case Some(last)
            if range.offset - last.end <= MaxGapBytes && range.end - last.offset <= MaxMergedBytes =>
          result(result.size - 1) = Range(last.offset, (range.end - last.offset).toInt)
        case _ => result += range
      }
    }
    result.toSeq
  }
}
