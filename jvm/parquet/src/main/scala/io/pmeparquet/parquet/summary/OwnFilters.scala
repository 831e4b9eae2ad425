package io.pmeparquet.parquet.summary

import scala.annotation.tailrec

import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.parquet.file.BloomFilters

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
  def of(chunks: Seq[Chunk], filters: BloomFilters, fpp: Double): Option[Array[Byte]] =
    if (chunks.isEmpty || !chunks.forall(_.meta.getBloomFilterOffset > 0)) None
    else {
      val headers = chunks.map(filters.header)
      val bytes = headers.map(_.bitsetBytes)
      val common = Iterator.iterate(bytes.min)(_ / 2).find(_ <= SplitBlocks.MaxBytes).get
      if (bytes.max > MaxOwnBytes) None
      else
        // One at a time: only the folded ones stay.
        chunks.iterator
          .zip(headers.iterator)
          .map { case (chunk, header) => SplitBlocks.folded(filters.bits(chunk, header), common) }
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
