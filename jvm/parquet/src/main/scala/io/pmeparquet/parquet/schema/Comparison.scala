package io.pmeparquet.parquet.schema

import java.lang.invoke.MethodType

import scala.collection.JavaConverters._

import org.apache.parquet.filter2.predicate.{FilterPredicate, Operators}
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY

/**
 * One comparison of a predicate: the part of it that names one column. In parquet-java null is a value like others, which
 * `NotEq(5)` accepts.
 *
 * @param values that the column is compared with; none for a predicate of the user's
 * @param ofNull whether a row in which the column is null may match
 */
private[parquet] final class Comparison private (
    val predicate: FilterPredicate,
    val column: Operators.Column[_],
    values: Seq[Any],
    ofNull: => Boolean
) {
  val path: Seq[String] = column.getColumnPath.toArray.toSeq

  lazy val acceptsNull: Boolean = ofNull

  /** SQL has one NaN, which is the greatest value. Statistics and hashes know of other orders and several patterns. */
  val hasNaN: Boolean = values.exists(Comparison.isNaN)

  /** SQL has one zero, dictionaries and hashes have two. */
  val hasZero: Boolean = values.exists {
    case double: Double => double == 0.0
    case float: Float => float == 0.0f
    case _ => false
  }

  /** Whether its values are those of a column of this type. */
  def isOf(leaf: PrimitiveType): Boolean =
    boxed(column.getColumnType) == boxed(leaf.getPrimitiveTypeName.javaType)

  private def boxed(of: Class[_]): Class[_] =
    if (of.isPrimitive) MethodType.methodType(of).wrap().returnType() else of

  /** Whether each value has the length of a type of fixed length: only then equal values have equal bytes. */
  def hasLengthOf(leaf: PrimitiveType): Boolean =
    leaf.getPrimitiveTypeName != FIXED_LEN_BYTE_ARRAY || values.filter(_ != null).forall {
      case binary: Binary => binary.length == leaf.getTypeLength
      case _ => false
    }
}

private[parquet] object Comparison {

  /** SQL has one NaN, bytes have many. */
  def isNaN(value: Any): Boolean = value match {
    case double: Double => double.isNaN
    case float: Float => float.isNaN
    case _ => false
  }

  /** None for AND, OR, a negation, and what is not known here. */
  def of(predicate: FilterPredicate): Option[Comparison] = predicate match {
    case eq: Operators.Eq[_] => one(eq, eq.getColumn, Seq(eq.getValue), eq.getValue == null)
    case not: Operators.NotEq[_] => one(not, not.getColumn, Seq(not.getValue), not.getValue != null)
    case lt: Operators.Lt[_] => one(lt, lt.getColumn, Seq(lt.getValue), ofNull = false)
    case ltEq: Operators.LtEq[_] => one(ltEq, ltEq.getColumn, Seq(ltEq.getValue), ofNull = false)
    case gt: Operators.Gt[_] => one(gt, gt.getColumn, Seq(gt.getValue), ofNull = false)
    case gtEq: Operators.GtEq[_] => one(gtEq, gtEq.getColumn, Seq(gtEq.getValue), ofNull = false)
    case in: Operators.In[_] =>
      val values: Seq[Any] = in.getValues.asScala.toSeq
      one(in, in.getColumn, values, values.contains(null))
    case notIn: Operators.NotIn[_] =>
      val values: Seq[Any] = notIn.getValues.asScala.toSeq
      one(notIn, notIn.getColumn, values, !values.contains(null))
    case user: Operators.UserDefined[_, _] =>
      one(user, user.getColumn, Nil, user.getUserDefinedPredicate.acceptsNullValue())
    case not: Operators.LogicalNotUserDefined[_, _] =>
      val user = not.getUserDefined
      one(not, user.getColumn, Nil, !user.getUserDefinedPredicate.acceptsNullValue())
    case _ => None
  }

  private def one(
      predicate: FilterPredicate,
      column: Operators.Column[_],
      values: Seq[Any],
      ofNull: => Boolean
  ): Option[Comparison] = Some(new Comparison(predicate, column, values, ofNull))
}
