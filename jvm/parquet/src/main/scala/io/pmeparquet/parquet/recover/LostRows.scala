package io.pmeparquet.parquet.recover

import java.util.BitSet

/**
 * Rows of a row group whose values in one column are lost, and why. ''Crosses the wire.''
 *
 * @param column the leaf column's name in Spark
 * @param first the first row, by its index in its row group
 * @param condition a condition of ours
 */
final case class LostRows(
    rowGroup: Int,
    column: String,
    first: Long,
    count: Long,
    condition: String,
    message: String
)

/** Rows of a row group, by their index in it. */
private[recover] object RowSet {
  def all(count: Int): BitSet = {
    val rows = new BitSet(count)
    rows.set(0, count)
    rows
  }

  def union(sets: Iterable[BitSet]): BitSet = {
    val rows = new BitSet
    sets.foreach(rows.or)
    rows
  }

  /** The runs of rows, each with its first row and the row after its last. */
  def runs(rows: BitSet): Iterator[(Int, Int)] =
    Iterator
      .iterate(rows.nextSetBit(0) -> 0) { case (at, _) => rows.nextSetBit(rows.nextClearBit(at)) -> 0 }
      .map(_._1)
      .takeWhile(_ >= 0)
      .map(first => first -> rows.nextClearBit(first))
}
