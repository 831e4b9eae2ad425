package io.pmeparquet.parquet.chunk

import io.pmeparquet.parquet.bytes.Segment

/** The rows of a page: the index of the first in its row group, and their number. */
private[parquet] final case class PageRows(first: Long, count: Int) {
  def holdAny(wanted: Rows): Boolean = count > 0 && wanted.overlaps(first, first + count - 1)
}

/**
 * Where a page begins, header first.
 *
 * @param segment the bytes of the file that contain it, at most to the end of the file
 * @param ordinal its number among the data pages of its chunk
 * @param rows known if the offset index gave the place
 */
private[parquet] final case class PagePlace(
    segment: Segment,
    offset: Long,
    ordinal: Int,
    rows: Option[PageRows]
) {

  /** The index at which it begins in the segment's array. */
  def index: Int = segment.indexOf(offset)
}

/** Which pages of a chunk to read, in order. For one thread. */
private[parquet] sealed trait PagePlaces {

  /** Whether these are all data pages of the chunk, so that a reader can count the values. */
  def areAll: Boolean

  /** Where the dictionary is if there is one; the header of the page there shows whether it is. */
  def dictionary: Option[PagePlace]

  /** The next data page. */
  def next(): Option[PagePlace]

  /** The reader reports here where a page ended, as an index in its segment's array. */
  def passed(place: PagePlace, end: Int): Unit
}

/** All pages of a chunk, one after the other. */
private[parquet] final class AllPages(segment: Segment) extends PagePlaces {
  private var offset = segment.offset
  private var ordinal = 0

  override def areAll: Boolean = true

  override def dictionary: Option[PagePlace] = place

  override def next(): Option[PagePlace] = {
    val next = place
    ordinal += 1
    next
  }

  private def place = if (offset >= segment.end) None else Some(PagePlace(segment, offset, ordinal, None))

  override def passed(place: PagePlace, end: Int): Unit =
    offset = segment.offset + (end - segment.at)
}

/** Some pages of a chunk, at the places that the offset index states. */
private[parquet] final class SomePages(override val dictionary: Option[PagePlace], places: Seq[PagePlace])
    extends PagePlaces {
  private val left = places.iterator

  override def areAll: Boolean = false
  override def next(): Option[PagePlace] = if (left.hasNext) Some(left.next()) else None
  override def passed(place: PagePlace, end: Int): Unit = ()
}
