package io.pmeparquet.parquet.schema

import org.apache.parquet.filter2.predicate.{FilterPredicate, Operators}
import org.apache.parquet.hadoop.metadata.ColumnPath

/** The columns of a predicate, and the values that it compares them with. */
object PredicateColumns {
  private[pmeparquet] def of(predicate: FilterPredicate): Set[ColumnPath] =
    comparisons(predicate).map(_.column.getColumnPath).toSet

  /**
   * Whether it compares with a floating-point zero. SQL has one zero; parquet-java's dictionary, Bloom and record
   * filters have two, and rule out rows that hold the other.
   */
  def comparesWithZero(predicate: FilterPredicate): Boolean = comparisons(predicate).exists(_.hasZero)

  private def comparisons(predicate: FilterPredicate): Seq[Comparison] = predicate match {
    case and: Operators.And => comparisons(and.getLeft) ++ comparisons(and.getRight)
    case or: Operators.Or => comparisons(or.getLeft) ++ comparisons(or.getRight)
    case not: Operators.Not => comparisons(not.getPredicate)
    // As parquet-java's visitors do.
    case other => Seq(Comparison.of(other).getOrElse(throw new UnsupportedOperationException(other.toString)))
  }
}
