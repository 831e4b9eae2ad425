package io.pmeparquet.parquet.summary

import java.nio.{ByteBuffer, ByteOrder}

import scala.annotation.tailrec

import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.parquet.file.Indexes

/**
 * Sizes of split-block Bloom filters (`BloomFilter.md` of the Parquet format). A filter consists of blocks of eight words
 * of 32 bits, and each value sets one bit in each word of one block.
 */
private[summary] object SplitBlocks {
  val BlockBytes: Int = 32
  private val Words = 8
  private val WordBits = 32

  /** The most that a summary takes for each file. */
  val MaxBytes: Int = 128 * 1024

  /** A filter that lets through more than this share of all values costs more than it saves. */
  val MostFalsePositives: Double = 0.5

  /** The size of the smallest filter for this many distinct values, and at most [[MaxBytes]]. */
  def bytesFor(ndv: Long, fpp: Double): Int = {
    val blocks = least(1, MaxBytes / BlockBytes)(expected(ndv, _) <= fpp)
    blocks * BlockBytes
  }

  /** The most distinct values for which [[MaxBytes]] are enough. */
  def mostValues(fpp: Double): Int = {
    val blocks = MaxBytes / BlockBytes
    least(1, MaxBytes * 8)(ndv => expected(ndv.toLong, blocks) > fpp) - 1
  }

  /** The least number for which a condition holds that holds for all greater ones, or else `to`. */
  private def least(from: Int, to: Int)(holds: Int => Boolean): Int =
    if (from >= to) to
    else {
      val middle = from + (to - from) / 2
      if (holds(middle)) least(from, middle)(holds) else least(middle + 1, to)(holds)
    }

  /** The share of other values that a filter lets through: the number of values in a block follows Poisson's law. */
  private def expected(ndv: Long, blocks: Int): Double = {
    val mean = ndv.toDouble / blocks
    // Beyond, each block is full.
    if (mean > 300) 1.0
    else {
      val most = (mean + 12 * math.sqrt(mean) + 12).toInt
      Iterator
        .iterate((0, math.exp(-mean))) { case (values, share) => (values + 1, share * mean / (values + 1)) }
        .take(most)
        .map { case (values, share) => share * math.pow(1 - math.pow(1 - 1.0 / WordBits, values), Words) }
        .sum
    }
  }

  /** The share of all values that this filter lets through. */
  def falsePositives(bits: Array[Byte]): Double = {
    val words = ByteBuffer.wrap(bits).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer()
    val blocks = bits.length / BlockBytes
    (0 until blocks).map { block =>
      (0 until Words)
        .map(word => Integer.bitCount(words.get(block * Words + word)).toDouble / WordBits)
        .product
    }.sum / blocks
  }

  /**
   * The filter of the same values that has half the size. The upper half of a hash, times the number of blocks, chooses
   * the block, so the values of two neighbours have one block in common there.
   *
   * @return none if the number of blocks is odd
   */
  def folded(bits: Array[Byte]): Option[Array[Byte]] =
    if (bits.length % (2 * BlockBytes) != 0) None
    else {
      val half = new Array[Byte](bits.length / 2)
      half.indices.foreach { at =>
        val from = at / BlockBytes * 2 * BlockBytes + at % BlockBytes
        half(at) = (bits(from) | bits(from + BlockBytes)).toByte
      }
      Some(half)
    }

  /** The filter of the same values of a size; none if halving does not lead to it. */
  def folded(bits: Array[Byte], bytes: Int): Option[Array[Byte]] =
    if (bits.length == bytes) Some(bits)
    else if (bits.length < bytes) None
    else folded(bits).flatMap(folded(_, bytes))

  /** The filter of the values of two filters of one size. */
  def union(one: Array[Byte], other: Array[Byte]): Array[Byte] = {
    val both = one.clone()
    both.indices.foreach(at => both(at) = (both(at) | other(at)).toByte)
    both
  }
}

/**
 * Makes one filter of the Bloom filters that the row groups of a file have for a column: folds them to one size and joins
 * them.
 */
private[summary] object OwnFilters {

  /** Reading longer ones costs more than reading the column. */
  private val MaxOwnBytes = 16 * 1024 * 1024

  /**
   * @param chunks of the column, in each row group that has rows
   * @return none if a row group has no filter, or the column itself gives a better one
   */
  def of(chunks: Seq[Chunk], indexes: Indexes, fpp: Double): Option[Array[Byte]] =
    if (chunks.isEmpty || !chunks.forall(_.meta.getBloomFilterOffset > 0)) None
    else {
      val headers = chunks.map(indexes.filterHeader)
      val bytes = headers.map(_.bitsetBytes)
      val common = Iterator.iterate(bytes.min)(_ / 2).find(_ <= SplitBlocks.MaxBytes).get
      if (bytes.max > MaxOwnBytes) None
      else
        // One at a time: only the folded ones stay.
        chunks.iterator
          .zip(headers.iterator)
          .map { case (chunk, header) => SplitBlocks.folded(indexes.filterBits(chunk, header), common) }
          .reduceLeft((all, more) => for (one <- all; other <- more) yield SplitBlocks.union(one, other))
          .flatMap(fitted(_, fpp))
    }

  /** A filter of the wanted quality, as small as it can be; none if the column's values give a better one. */
  private def fitted(bits: Array[Byte], fpp: Double): Option[Array[Byte]] =
    if (SplitBlocks.falsePositives(bits) <= fpp) Some(smallest(bits, fpp))
    // The column's values would make the same one.
    else if (bits.length * 2 > SplitBlocks.MaxBytes) Some(bits)
    else None

  @tailrec
  private def smallest(bits: Array[Byte], fpp: Double): Array[Byte] =
    SplitBlocks.folded(bits).filter(SplitBlocks.falsePositives(_) <= fpp) match {
      case Some(half) => smallest(half, fpp)
      case None => bits
    }
}
