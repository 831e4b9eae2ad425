package io.pmeparquet.parquet.pages

import org.apache.parquet.filter2.predicate.{FilterPredicate, Operators, UserDefinedPredicate}
import org.apache.parquet.hadoop.metadata.ColumnPath

/** The columns that a predicate looks at. */
private[parquet] object PredicateColumns {
  def of(predicate: FilterPredicate): Set[ColumnPath] = predicate.accept(Visitor)

  private object Visitor extends FilterPredicate.Visitor[Set[ColumnPath]] {
    private def one(column: Operators.Column[_]) = Set(column.getColumnPath)

    override def visit[T <: Comparable[T]](eq: Operators.Eq[T]): Set[ColumnPath] = one(eq.getColumn)
    override def visit[T <: Comparable[T]](notEq: Operators.NotEq[T]): Set[ColumnPath] = one(notEq.getColumn)
    override def visit[T <: Comparable[T]](lt: Operators.Lt[T]): Set[ColumnPath] = one(lt.getColumn)
    override def visit[T <: Comparable[T]](ltEq: Operators.LtEq[T]): Set[ColumnPath] = one(ltEq.getColumn)
    override def visit[T <: Comparable[T]](gt: Operators.Gt[T]): Set[ColumnPath] = one(gt.getColumn)
    override def visit[T <: Comparable[T]](gtEq: Operators.GtEq[T]): Set[ColumnPath] = one(gtEq.getColumn)
    override def visit[T <: Comparable[T]](in: Operators.In[T]): Set[ColumnPath] = one(in.getColumn)
    override def visit[T <: Comparable[T]](notIn: Operators.NotIn[T]): Set[ColumnPath] = one(notIn.getColumn)
    override def visit(and: Operators.And): Set[ColumnPath] = of(and.getLeft) ++ of(and.getRight)
    override def visit(or: Operators.Or): Set[ColumnPath] = of(or.getLeft) ++ of(or.getRight)
    override def visit(not: Operators.Not): Set[ColumnPath] = of(not.getPredicate)
    override def visit[T <: Comparable[T], U <: UserDefinedPredicate[T]](
        udp: Operators.UserDefined[T, U]
    ): Set[ColumnPath] = one(udp.getColumn)
    override def visit[T <: Comparable[T], U <: UserDefinedPredicate[T]](
        udp: Operators.LogicalNotUserDefined[T, U]
    ): Set[ColumnPath] = one(udp.getUserDefined.getColumn)
  }
}
