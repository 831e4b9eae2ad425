package io.pmeparquet.spark.snapshots

import org.apache.parquet.filter2.predicate.{FilterPredicate, Operators}

import io.pmeparquet.parquet.schema.PredicateColumns
import io.pmeparquet.parquet.summary.SummaryKind
import io.pmeparquet.snapshot.manifest.IndexEntry

/**
 * Which indexes of a table can prove something for predicates: the others are not read. Bloom filters, which are by far the
 * largest, only know whether a file may hold a value. ''Driver only.''
 */
private[snapshots] object UsefulIndexes {

  /** @param indexes of the table */
  def of(indexes: Seq[IndexEntry], predicates: Seq[FilterPredicate]): IndexEntry => Boolean = {
    val named = predicates.flatMap(PredicateColumns.of(_).map(_.toArray.toSeq)).toSet
    val sought = predicates.flatMap(equalities).toSet
    // Every index counts nulls.
    val others = indexes.filterNot(isBloom).map(_.column).toSet
    index => named(index.column) && (!isBloom(index) || sought(index.column) || !others(index.column))
  }

  private def isBloom(index: IndexEntry) = index.kind match {
    case _: SummaryKind.Bloom => true
    case _ => false
  }

  /** The columns that are compared with values by `=` or `IN`. */
  private def equalities(predicate: FilterPredicate): Seq[Seq[String]] = predicate match {
    case and: Operators.And => equalities(and.getLeft) ++ equalities(and.getRight)
    case or: Operators.Or => equalities(or.getLeft) ++ equalities(or.getRight)
    case eq: Operators.Eq[_] if eq.getValue != null => Seq(pathOf(eq.getColumn))
    case in: Operators.In[_] => Seq(pathOf(in.getColumn))
    case _ => Nil
  }

  private def pathOf(column: Operators.Column[_]) = column.getColumnPath.toArray.toSeq
}
