package io.pmeparquet.spark.session

import org.apache.spark.sql.catalyst.expressions.{Cast, Expression}
import org.apache.spark.sql.types._

/** Texts of values that name keys. */
private[spark] object ValueTexts {

  /** Whether all writers and readers make the same text of a value of this type. */
  def areSame(dataType: DataType): Boolean = Same(dataType)

  def of(value: Expression): Expression = Cast(value, StringType, Some("UTC"))

  private val Same =
    Set[DataType](StringType, BooleanType, ByteType, ShortType, IntegerType, LongType, DateType)
}
