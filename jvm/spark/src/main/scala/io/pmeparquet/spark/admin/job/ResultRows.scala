package io.pmeparquet.spark.admin.job

import scala.collection.JavaConverters._

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types.{ArrayType, DataType, StringType, StructField, StructType}

/** The columns of a result, and how each follows from an item: its schema and its rows. ''Driver only.'' */
private[pmeparquet] final class ResultRows[A] private (columns: Vector[(StructField, A => Any)]) {
  def required(name: String, kind: DataType)(of: A => Any): ResultRows[A] =
    new ResultRows(columns :+ (StructField(name, kind, nullable = false) -> of))

  /** A column that is NULL for an item that has no value. */
  def optional(name: String, kind: DataType)(of: A => Option[Any]): ResultRows[A] =
    new ResultRows(columns :+ (StructField(name, kind) -> ((one: A) => of(one).orNull)))

  lazy val schema: StructType = StructType(columns.map(_._1))

  def row(one: A): Row = Row.fromSeq(columns.map { case (_, of) => of(one) })

  def frame(session: SparkSession, all: Seq[A]): DataFrame =
    session.createDataFrame(all.map(row).asJava, schema)
}

private[pmeparquet] object ResultRows {
  def of[A]: ResultRows[A] = new ResultRows(Vector.empty)

  val Names: ArrayType = ArrayType(StringType, containsNull = false)
}
