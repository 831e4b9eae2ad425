package io.pmeparquet.parquet.schema

import scala.collection.JavaConverters._

import org.apache.parquet.filter2.predicate.{FilterPredicate, Operators, UserDefinedPredicate}
import org.apache.parquet.hadoop.metadata.ColumnPath

/** The columns of a predicate, and the values that it compares them with. */
object PredicateColumns {
  private final case class Comparison(column: ColumnPath, values: Seq[Any])

  private[pmeparquet] def of(predicate: FilterPredicate): Set[ColumnPath] =
    comparisons(predicate).map(_.column).toSet

  /**
   * Whether it compares with a floating-point zero. SQL has one zero; parquet-java's dictionary, Bloom and record
   * filters have two, and rule out rows that hold the other.
   */
  def comparesWithZero(predicate: FilterPredicate): Boolean = comparisons(predicate).exists(_.values.exists {
    case double: Double => double == 0.0
    case float: Float => float == 0.0f
    case _ => false
  })

  private def comparisons(predicate: FilterPredicate): Seq[Comparison] = predicate.accept(Visitor)

  private object Visitor extends FilterPredicate.Visitor[Seq[Comparison]] {
    private def one(column: Operators.Column[_], values: Any*) =
      Seq(Comparison(column.getColumnPath, values))

    override def visit[T <: Comparable[T]](eq: Operators.Eq[T]): Seq[Comparison] =
      one(eq.getColumn, eq.getValue)
    override def visit[T <: Comparable[T]](notEq: Operators.NotEq[T]): Seq[Comparison] =
      one(notEq.getColumn, notEq.getValue)
    override def visit[T <: Comparable[T]](lt: Operators.Lt[T]): Seq[Comparison] =
      one(lt.getColumn, lt.getValue)
    override def visit[T <: Comparable[T]](ltEq: Operators.LtEq[T]): Seq[Comparison] =
      one(ltEq.getColumn, ltEq.getValue)
    override def visit[T <: Comparable[T]](gt: Operators.Gt[T]): Seq[Comparison] =
      one(gt.getColumn, gt.getValue)
    override def visit[T <: Comparable[T]](gtEq: Operators.GtEq[T]): Seq[Comparison] =
      one(gtEq.getColumn, gtEq.getValue)
    override def visit[T <: Comparable[T]](in: Operators.In[T]): Seq[Comparison] =
      one(in.getColumn, in.getValues.asScala.toSeq: _*)
    override def visit[T <: Comparable[T]](notIn: Operators.NotIn[T]): Seq[Comparison] =
      one(notIn.getColumn, notIn.getValues.asScala.toSeq: _*)
    override def visit(and: Operators.And): Seq[Comparison] =
      comparisons(and.getLeft) ++ comparisons(and.getRight)
    override def visit(or: Operators.Or): Seq[Comparison] =
      comparisons(or.getLeft) ++ comparisons(or.getRight)
    override def visit(not: Operators.Not): Seq[Comparison] = comparisons(not.getPredicate)
    override def visit[T <: Comparable[T], U <: UserDefinedPredicate[T]](
        udp: Operators.UserDefined[T, U]
    ): Seq[Comparison] = one(udp.getColumn)
    override def visit[T <: Comparable[T], U <: UserDefinedPredicate[T]](
        udp: Operators.LogicalNotUserDefined[T, U]
    ): Seq[Comparison] = one(udp.getUserDefined.getColumn)
  }
}
