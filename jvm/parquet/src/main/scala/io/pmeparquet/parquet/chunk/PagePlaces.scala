package io.pmeparquet.parquet.chunk

import io.pmeparquet.parquet.bytes.Segment

/** The rows of a page: the first of them in its row group, and how many. */
private[parquet] final case class PageRows(first: Long, count: Int) {
  def holdAny(wanted: Rows): Boolean = count > 0 && wanted.overlaps(first, first + count - 1)
}

/**
 * Where a page begins, header first.
 *
 * @param segment the bytes of the file that it lies in, to its end at most
 * @param ordinal its number among the data pages of its chunk
 * @param rows known where it was found by the offset index
 */
private[parquet] final case class PagePlace(
    segment: Segment,
    offset: Long,
    ordinal: Int,
    rows: Option[PageRows]
) {

  /** Where it begins in the segment's array. */
  def index: Int = segment.at + (offset - segment.offset).toInt
}

/** Which pages of a chunk are read, in order. For one thread. */
private[parquet] sealed trait PagePlaces {

  /** Whether all data pages of the chunk are among them, so that their values can be counted. */
  def areAll: Boolean

  /** Where the dictionary lies if there is one, which the first page there tells. */
  def dictionary: Option[PagePlace]

  /** The next data page. */
  def next(): Option[PagePlace]

  /** Told where a page turned out to end, as an index of its segment's array. */
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

/** Some pages of a chunk, as the offset index places them. */
private[parquet] final class SomePages(override val dictionary: Option[PagePlace], places: Seq[PagePlace])
    extends PagePlaces {
  private val left = places.iterator

  override def areAll: Boolean = false
  override def next(): Option[PagePlace] = if (left.hasNext) Some(left.next()) else None
  override def passed(place: PagePlace, end: Int): Unit = ()
}
