package io.pmeparquet.parquet.chunk

import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.parquet.bytes.Limits
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
