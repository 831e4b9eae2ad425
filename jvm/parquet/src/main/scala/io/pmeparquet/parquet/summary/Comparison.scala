package io.pmeparquet.parquet.summary

import scala.collection.JavaConverters._

import org.apache.parquet.filter2.predicate.{FilterPredicate, Operators}
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import io.pmeparquet.parquet.schema.PredicateColumns

/**
 * One comparison of a predicate: the part of it that names one column. In parquet-java null is a value like others, which
 * `NotEq(5)` accepts.
 *
 * @param values that the column is compared with; none for a predicate of the user's
 * @param acceptsNull whether a row in which the column is null may match
 */
private[summary] final class Comparison(
    val predicate: FilterPredicate,
    column: Operators.Column[_],
    val values: Seq[Any],
    val acceptsNull: Boolean
) {
  val path: Seq[String] = column.getColumnPath.toArray.toSeq

  private val notNull = values.filter(_ != null)

  /** SQL has one NaN, which is the greatest value. Statistics and hashes know of other orders and several patterns. */
  val hasNaN: Boolean = notNull.exists {
    case double: Double => double.isNaN
    case float: Float => float.isNaN
    case _ => false
  }

  /** SQL has one zero, dictionaries and hashes have two. */
  val hasZero: Boolean = PredicateColumns.comparesWithZero(predicate)

  /** Whether its values are those of a column of this type. */
  def isOf(leaf: PrimitiveType): Boolean = {
    val expected: Class[_] = leaf.getPrimitiveTypeName.javaType
    val found: Class[_] = column.getColumnType
    boxed(found) == boxed(expected)
  }

  private def boxed(of: Class[_]): Class[_] =
    if (of.isPrimitive) java.lang.invoke.MethodType.methodType(of).wrap().returnType() else of

  /** Whether each value has the length of a type of fixed length: only then equal values have equal bytes. */
  def hasLengthOf(leaf: PrimitiveType): Boolean =
    leaf.getPrimitiveTypeName != FIXED_LEN_BYTE_ARRAY || notNull.forall {
      case binary: org.apache.parquet.io.api.Binary => binary.length == leaf.getTypeLength
      case _ => false
    }
}

private[summary] object Comparison {

  /** None for AND, OR, a negation, and what is not known here. */
  def of(predicate: FilterPredicate): Option[Comparison] = predicate match {
    case eq: Operators.Eq[_] => Some(withValue(eq, eq.getColumn, eq.getValue, eq.getValue == null))
    case not: Operators.NotEq[_] => Some(withValue(not, not.getColumn, not.getValue, not.getValue != null))
    case lt: Operators.Lt[_] => Some(withValue(lt, lt.getColumn, lt.getValue, acceptsNull = false))
    case ltEq: Operators.LtEq[_] => Some(withValue(ltEq, ltEq.getColumn, ltEq.getValue, acceptsNull = false))
    case gt: Operators.Gt[_] => Some(withValue(gt, gt.getColumn, gt.getValue, acceptsNull = false))
    case gtEq: Operators.GtEq[_] => Some(withValue(gtEq, gtEq.getColumn, gtEq.getValue, acceptsNull = false))
    case in: Operators.In[_] =>
      val values = valuesOf(in.getValues)
      Some(new Comparison(in, in.getColumn, values, values.exists(_ == null)))
    case notIn: Operators.NotIn[_] =>
      val values = valuesOf(notIn.getValues)
      Some(new Comparison(notIn, notIn.getColumn, values, !values.exists(_ == null)))
    case user: Operators.UserDefined[_, _] =>
      Some(new Comparison(user, user.getColumn, Nil, user.getUserDefinedPredicate.acceptsNullValue()))
    case not: Operators.LogicalNotUserDefined[_, _] =>
      val user = not.getUserDefined
      Some(new Comparison(not, user.getColumn, Nil, !user.getUserDefinedPredicate.acceptsNullValue()))
    case _ => None
  }

  private def valuesOf(values: java.util.Set[_]): Seq[Any] = values.asScala.toSeq

  private def withValue(
      predicate: FilterPredicate,
      column: Operators.Column[_],
      value: Any,
      acceptsNull: Boolean
  ) = new Comparison(predicate, column, Seq(value), acceptsNull)
}
