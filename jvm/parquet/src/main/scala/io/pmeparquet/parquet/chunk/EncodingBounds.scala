package io.pmeparquet.parquet.chunk

import org.apache.parquet.column.{ColumnDescriptor, Encoding}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.PmeErrors

/**
 * Checks what levels and packed values of a page claim, without decoding them: decoders allocate as much as a run or a
 * block claims to hold, and some wait forever for missing levels. It takes one step for each run.
 */
private[parquet] final class EncodingBounds(descriptor: ColumnDescriptor, where: String) {
  import EncodingBounds._

  private val repetitionBits = bitsFor(descriptor.getMaxRepetitionLevel)
  private val definitionBits = bitsFor(descriptor.getMaxDefinitionLevel)
  private val isBoolean = descriptor.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BOOLEAN

  /**
   * Checks a V1 page's body of `size` bytes: repetition levels, definition levels, each after its length, and values.
   *
   * @throws io.pmeparquet.PmeException if a part makes an impossible claim
   */
  def checkV1(
      page: Array[Byte],
      size: Int,
      count: Int,
      repetition: Encoding,
      definition: Encoding,
      values: Encoding
  ): Unit = checked { of =>
    val walk = new EncodingWalk(page, 0, size)
    of("repetition levels")
    walk.prefixedLevels(repetitionBits, repetition, count)
    of("definition levels")
    walk.prefixedLevels(definitionBits, definition, count)
    of("values")
    this.values(walk, values, count)
  }

  /**
   * As `checkV1` for a V2 page: the repetition levels at `levelsAt`, the definition levels after them, and the values.
   */
  def checkV2(
      levels: Array[Byte],
      levelsAt: Int,
      repetitionBytes: Int,
      definitionBytes: Int,
      page: Array[Byte],
      size: Int,
      count: Int,
      values: Encoding
  ): Unit = checked { of =>
    val definitionAt = levelsAt + repetitionBytes
    of("repetition levels")
    new EncodingWalk(levels, levelsAt, definitionAt).levels(repetitionBits, count)
    of("definition levels")
    new EncodingWalk(levels, definitionAt, definitionAt + definitionBytes).levels(definitionBits, count)
    of("values")
    this.values(new EncodingWalk(page, 0, size), values, count)
  }

  private def checked(walk: (String => Unit) => Unit): Unit = {
    var part = ""
    try walk(part = _)
    catch {
      case unbounded: UnboundedEncoding =>
        throw PmeErrors.damaged(
          where,
          s"the $part of a page do not match its header: ${unbounded.getMessage}"
        )
    }
  }

  private def values(walk: EncodingWalk, encoding: Encoding, count: Int): Unit = encoding match {
    case dictionary if dictionary.usesDictionary => walk.indices(count)
    case Encoding.RLE if isBoolean => if (count > 0) walk.prefixed(_.runs(1, count))
    case Encoding.DELTA_BINARY_PACKED | Encoding.DELTA_LENGTH_BYTE_ARRAY => walk.deltas(count)
    case Encoding.DELTA_BYTE_ARRAY =>
      walk.deltas(count)
      walk.deltas(count)
    case _ => ()
  }
}

private object EncodingBounds {
  def bitsFor(level: Int): Int = Integer.SIZE - Integer.numberOfLeadingZeros(level)
}

/** Why a walk over encoded levels or values did not reach their end. */
private[chunk] final class UnboundedEncoding(message: String) extends Exception(message)

/** One walk over encoded levels or values, without decoding them: see [[EncodingBounds]]. */
private[chunk] final class EncodingWalk(bytes: Array[Byte], from: Int, until: Int) {
  import EncodingWalk._

  private var at = from

  /** The levels of a V1 page. The deprecated packed encoding contains no lengths. */
  def prefixedLevels(bits: Int, encoding: Encoding, count: Int): Unit =
    if (bits > 0) {
      if (encoding == Encoding.RLE) prefixed(_.levels(bits, count))
      else skip((count.toLong * bits + 7) / 8)
    }

  def levels(bits: Int, count: Int): Unit =
    if (bits > 0) {
      val held = runs(bits, count)
      if (held < count) throw new UnboundedEncoding(s"$held of $count are there")
    }

  /** A part that follows its own length of four bytes. */
  def prefixed(part: EncodingWalk => Any): Unit = {
    val start = at
    skip(Integer.BYTES.toLong)
    val length = ModuleFrame.lengthAt(bytes, start)
    skip(length.toLong)
    part(new EncodingWalk(bytes, at - length, at))
  }

  /** Indices into a dictionary, after their bit width. */
  def indices(count: Int): Unit = if (at < until) {
    val bits = next()
    if (bits > Integer.SIZE) throw new UnboundedEncoding(s"indices of $bits bits")
    if (bits > 0) runs(bits, count)
  }

  /**
   * Runs of the RLE/bit-packing hybrid (Encodings, "RLE = 3").
   *
   * @return the number of values that they hold; stops looking at `count`
   */
  def runs(bits: Int, count: Int): Long = {
    var held = 0L
    while (held < count && at < until) {
      val header = varint()
      if (header < 0 || header > MostOfRun) throw new UnboundedEncoding("a run has no length")
      val length = header >>> 1
      if ((header & 1) == 0) {
        skip((bits + 7) / 8)
        held += length
      } else {
        // The last group may be cut short; decoders detect that themselves.
        if ((length - 1) * bits > until - at || length * GroupSize > count - held + Padding)
          throw new UnboundedEncoding(
            s"a run has $length groups, but ${until - at} bytes and ${count - held} values are left"
          )
        at += (length * bits).min((until - at).toLong).toInt
        held += length * GroupSize
      }
    }
    held
  }

  /** Integers as blocks of deltas (Encodings, "DELTA_BINARY_PACKED = 5"). */
  def deltas(count: Int): Unit = if (at < until) {
    val blockSize = varint()
    val parts = varint()
    val total = varint()
    varint()
    if (parts <= 0 || blockSize <= 0 || blockSize > count.toLong + Padding || blockSize % parts != 0)
      throw new UnboundedEncoding(s"blocks of $blockSize differences in $parts parts")
    val partSize = blockSize / parts
    if (partSize % GroupSize != 0) throw new UnboundedEncoding(s"parts of $partSize differences")
    if (total < 0 || total > count) throw new UnboundedEncoding(s"$total of $count are there")
    var left = total - 1
    while (left > 0) {
      varint()
      val widths = at
      skip(parts)
      var part = 0
      while (part < parts && left > 0) {
        val bits = bytes(widths + part) & 0xff
        if (bits > java.lang.Long.SIZE) throw new UnboundedEncoding(s"differences of $bits bits")
        skip(partSize * bits / java.lang.Byte.SIZE)
        left -= partSize
        part += 1
      }
    }
  }

  private def varint(): Long = {
    var value = 0L
    var length = 0
    var more = true
    while (more) {
      if (length == MostVarintBytes) throw new UnboundedEncoding("a number does not end")
      val byte = next()
      value |= (byte & 0x7fL) << 7 * length
      length += 1
      more = byte > 0x7f
    }
    value
  }

  private def next(): Int = {
    skip(1)
    bytes(at - 1) & 0xff
  }

  private def skip(count: Long): Unit = {
    if (count < 0 || count > until - at)
      throw new UnboundedEncoding(s"they take $count bytes, but ${until - at} are left")
    at += count.toInt
  }
}

private object EncodingWalk {
  val GroupSize = 8
  val MostVarintBytes = 10

  /** Above what any decoder can hold, and low enough that products of it do not overflow. */
  val MostOfRun = 1L << 40

  /** Writers pad the last packed run and the last block to a group of 8 or more. */
  val Padding = 4096
}
