package io.pmeparquet.parquet.chunk

import org.apache.hadoop.fs.ChecksumException

import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.parquet.bytes.{FileBytes, Limits, Range, Segment}
import io.pmeparquet.PmeException

/**
 * Opens the page headers of one column chunk, and reads no more bytes than they take. For one thread.
 *
 * @param end where the chunk ends
 */
private[parquet] final class ChunkHeaders(
    window: Window,
    end: Long,
    reader: CompressedPageReader,
    isEncrypted: Boolean
) {
  import ChunkHeaders._

  /**
   * @param number the data page's number; none for the dictionary
   * @return the header, and the length of the page's body
   */
  def at(offset: Long, number: Option[Int]): (OpenedHeader, Int) =
    if (isEncrypted) {
      val frame = frameEnd(offset).fold(ModuleFrame.GcmOverheadBytes.toLong)(_ - offset)
      within(frame.min(MostOfHeader), offset, number)
    } else
      try within(UsualBytes, offset, number)
      catch { case _: PmeException => within(MostOfHeader, offset, number) }

  private def within(length: Long, offset: Long, number: Option[Int]) = {
    val place = PagePlace(window.from(offset, length), offset, number.getOrElse(0), None)
    val page = if (number.isEmpty) reader.dictionaryAt(place) else reader.dataPageAt(place)
    page -> reader.bodyLength(page, end - offset - page.headerBytes)
  }

  /** The end of a module according to the length before it, if that is possible. */
  def frameEnd(offset: Long): Option[Long] =
    if (end - offset < ModuleFrame.LengthBytes) None
    else {
      val segment = window.from(offset, ModuleFrame.LengthBytes.toLong)
      val length = ModuleFrame.lengthAt(segment.array, PagePlace(segment, offset, 0, None).index)
      Some(length).filter(_ >= 0).map(offset + ModuleFrame.LengthBytes + _).filter(_ <= end)
    }
}

private object ChunkHeaders {
  val MostOfHeader: Long = Limits.PageHeaderBytes.toLong + ModuleFrame.GcmOverheadBytes

  /** Nothing states the length of a plaintext header; a longer one holds long values. */
  val UsualBytes: Long = 8 * 1024
}

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
