package io.pmeparquet.parquet.bytes

/** A part of a file: `length` bytes from `offset` on. */
private[parquet] final case class Range(offset: Long, length: Int) {
  def end: Long = offset + length
}

/** Bytes of a file, at any place in an array: byte `offset` of the file is `array(at)`. */
private[parquet] final class Segment(val array: Array[Byte], val at: Int, val offset: Long, val length: Int) {
  def end: Long = offset + length
  def until: Int = at + length

  def copied: Array[Byte] = java.util.Arrays.copyOfRange(array, at, until)

  /** Whether it has all bytes of a range. */
  def holds(range: Range): Boolean = range.length >= 0 && range.offset >= offset && range.end <= end

  /** The bytes of a range. */
  def slice(range: Range): Segment = {
    if (!holds(range))
      throw new IllegalStateException(s"internal error: $range is not in $offset..$end")
    new Segment(array, at + (range.offset - offset).toInt, range.offset, range.length)
  }
}
