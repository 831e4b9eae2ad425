package io.pmeparquet.parquet.pages

import org.apache.parquet.column.{ColumnDescriptor, Encoding}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import io.pmeparquet.PmeErrors

/**
 * Looks at what levels and packed values of a page say of themselves, without decoding them: decoders allocate what a
 * run or a block says it holds, and some wait for ever for levels that do not come. It costs a step for each run.
 */
private[pages] final class EncodingBounds(descriptor: ColumnDescriptor, where: String) {
  import EncodingBounds._

  private val repetitionBits = bitsFor(descriptor.getMaxRepetitionLevel)
  private val definitionBits = bitsFor(descriptor.getMaxDefinitionLevel)
  private val isBoolean = descriptor.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BOOLEAN

  /**
   * A V1 page's body of `size` bytes: repetition levels, definition levels, each after its length, and values.
   *
   * @throws io.pmeparquet.PmeException where a part says what cannot be
   */
  def checkV1(
      page: Array[Byte],
      size: Int,
      count: Int,
      repetition: Encoding,
      definition: Encoding,
      values: Encoding
  ): Unit = checked { of =>
    val walk = new Walk(page, 0, size)
    of("repetition levels")
    walk.prefixedLevels(repetitionBits, repetition, count)
    of("definition levels")
    walk.prefixedLevels(definitionBits, definition, count)
    of("values")
    this.values(walk, values, count)
  }

  /** As `checkV1`: of a V2 page the repetition levels at `levelsAt`, the definition levels after them, and values. */
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
    new Walk(levels, levelsAt, definitionAt).levels(repetitionBits, count)
    of("definition levels")
    new Walk(levels, definitionAt, definitionAt + definitionBytes).levels(definitionBits, count)
    of("values")
    this.values(new Walk(page, 0, size), values, count)
  }

  private def checked(walk: (String => Unit) => Unit): Unit = {
    var part = ""
    try walk(part = _)
    catch {
      case unbounded: Unbounded =>
        throw PmeErrors.damaged(where, s"the $part of a page contradict its header: ${unbounded.getMessage}")
    }
  }

  private def values(walk: Walk, encoding: Encoding, count: Int): Unit = encoding match {
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
  private final class Unbounded(message: String) extends Exception(message)

  private val GroupSize = 8
  private val MostVarintBytes = 10

  /** Above what any decoder can hold, and below where products of it overflow. */
  private val MostOfRun = 1L << 40

  /** Writers pad the last packed run and the last block, to a group of 8 or more. */
  private val Padding = 4096

  private def bitsFor(level: Int): Int = Integer.SIZE - Integer.numberOfLeadingZeros(level)

  private final class Walk(bytes: Array[Byte], from: Int, until: Int) {
    private var at = from

    /** The levels of a V1 page. The deprecated packed encoding has no lengths in it. */
    def prefixedLevels(bits: Int, encoding: Encoding, count: Int): Unit =
      if (bits > 0) {
        if (encoding == Encoding.RLE) prefixed(_.levels(bits, count))
        else skip((count.toLong * bits + 7) / 8)
      }

    def levels(bits: Int, count: Int): Unit =
      if (bits > 0) {
        val held = runs(bits, count)
        if (held < count) throw new Unbounded(s"they are $held of $count")
      }

    /** What follows its length of four bytes. */
    def prefixed(part: Walk => Any): Unit = {
      val start = at
      skip(Integer.BYTES.toLong)
      val length =
        (0 until Integer.BYTES).map(byte => (bytes(start + byte) & 0xff) << byte * java.lang.Byte.SIZE).sum
      skip(length.toLong)
      part(new Walk(bytes, at - length, at))
    }

    /** Indices into a dictionary, after the width of one. */
    def indices(count: Int): Unit = if (at < until) {
      val bits = next()
      if (bits > Integer.SIZE) throw new Unbounded(s"indices of $bits bits")
      if (bits > 0) runs(bits, count)
    }

    /**
     * Runs of the hybrid of run lengths and bit packing (Encodings, "RLE = 3").
     *
     * @return how many values they hold, looking no further than `count`
     */
    def runs(bits: Int, count: Int): Long = {
      var held = 0L
      while (held < count && at < until) {
        val header = varint()
        if (header < 0 || header > MostOfRun) throw new Unbounded("a run has no length")
        val length = header >>> 1
        if ((header & 1) == 0) {
          skip((bits + 7) / 8)
          held += length
        } else {
          // A last group may be cut short, which decoders see for themselves.
          if ((length - 1) * bits > until - at || length * GroupSize > count - held + Padding)
            throw new Unbounded(
              s"a run of $length groups where ${until - at} bytes and ${count - held} values are left"
            )
          at += (length * bits).min((until - at).toLong).toInt
          held += length * GroupSize
        }
      }
      held
    }

    /** Integers as differences in blocks (Encodings, "DELTA_BINARY_PACKED = 5"). */
    def deltas(count: Int): Unit = if (at < until) {
      val blockSize = varint()
      val parts = varint()
      val total = varint()
      varint()
      if (parts <= 0 || blockSize <= 0 || blockSize > count.toLong + Padding || blockSize % parts != 0)
        throw new Unbounded(s"blocks of $blockSize differences in $parts parts")
      val partSize = blockSize / parts
      if (partSize % GroupSize != 0) throw new Unbounded(s"parts of $partSize differences")
      if (total < 0 || total > count) throw new Unbounded(s"they are $total of $count")
      var left = total - 1
      while (left > 0) {
        varint()
        val widths = at
        skip(parts)
        var part = 0
        while (part < parts && left > 0) {
          val bits = bytes(widths + part) & 0xff
          if (bits > java.lang.Long.SIZE) throw new Unbounded(s"differences of $bits bits")
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
        if (length == MostVarintBytes) throw new Unbounded("a number does not end")
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
        throw new Unbounded(s"$count bytes where ${until - at} are left")
      at += count.toInt
    }
  }
}
