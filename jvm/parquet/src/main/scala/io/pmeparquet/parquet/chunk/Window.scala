package io.pmeparquet.parquet.chunk

import org.apache.hadoop.fs.ChecksumException

import io.pmeparquet.parquet.bytes.{FileBytes, Range, Segment}

/**
 * The part of a column chunk that is in memory. It moves on through the chunk as pages are opened one by one, so a
 * chunk of any length takes no more memory than its largest page. For one thread.
 *
 * @param step how much to read at once, unless a caller asks for more
 */
private[parquet] final class Window(bytes: FileBytes, step: Int) {
  private var buffer = Array.emptyByteArray
  private var segment = Window.Empty
  private var until = 0L

  /** Moves to another chunk, which ends at `end`. */
  def limitTo(end: Long): Unit = {
    segment = Window.Empty
    until = end
  }

  /** Bytes from an offset on, or from before it: at least `length` of what is left of the chunk. */
  def from(offset: Long, length: Long): Segment = {
    val left = until - offset
    val wanted = Range(offset, length.min(left).toInt)
    if (!segment.holds(wanted))
      try read(offset, wanted.length.max(left.min(step.toLong).toInt))
      catch {
        // The damage may be in the part that was read ahead.
        case _: ChecksumException => read(offset, wanted.length)
      }
    segment
  }

  private def read(offset: Long, length: Int): Unit = {
    val last = segment
    segment = Window.Empty
    val kept = if (offset >= last.offset && offset < last.end) (last.end - offset).toInt else 0
    val target = if (buffer.length >= length) buffer else new Array[Byte](Modules.roomFor(length))
    System.arraycopy(last.array, if (kept > 0) last.at + (offset - last.offset).toInt else 0, target, 0, kept)
    bytes.readInto(Range(offset + kept, length - kept), target, kept)
    buffer = target
    segment = new Segment(target, 0, offset, length)
  }
}

private object Window {
  private val Empty = new Segment(Array.emptyByteArray, 0, -1, 0)
}
