package io.pmeparquet.parquet.summary

import java.math.BigInteger
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Random

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.filter2.predicate.FilterApi
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{MessageTypeParser, PrimitiveType}

import io.pmeparquet.parquet.schema.Comparison

/**
 * A type of columns for tests of evaluations, with a few values of it, so that random files and predicates meet.
 *
 * @param text the column in Parquet's language of schemas, named `v`
 */
private[summary] final case class ColumnKind(text: String, values: Seq[AnyRef]) {
  def leaf(name: String): PrimitiveType = MessageTypeParser
    .parseMessageType(s"message m { optional ${text.replace(" v", s" $name")}; }")
    .getType(0)
    .asPrimitiveType

  override def toString: String = text
}

private[summary] object ColumnKind {
  private def bytes(values: Int*) = Binary.fromConstantByteArray(values.map(_.toByte).toArray)
  private def text(value: String) = Binary.fromConstantByteArray(value.getBytes(UTF_8))
  private def decimal(value: Long, length: Int) = {
    val plain = BigInteger.valueOf(value).toByteArray
    val sign: Byte = if (value < 0) -1 else 0
    Binary.fromConstantByteArray(Array.fill(length - plain.length)(sign) ++ plain)
  }
  private val ints = Seq(Int.MinValue, -2, -1, 0, 1, 2, Int.MaxValue).map(Int.box)
  private val longs = Seq(Long.MinValue, -2L, -1L, 0L, 1L, 2L, Long.MaxValue).map(Long.box)
  private val floats =
    Seq(Float.NegativeInfinity, -1f, -0.0f, 0.0f, 1f, 2f, Float.PositiveInfinity, Float.NaN).map(Float.box) :+
      Float.box(java.lang.Float.intBitsToFloat(0x7fc00001))
  private val doubles =
    Seq(Double.NegativeInfinity, -1d, -0.0d, 0.0d, 1d, 2d, Double.PositiveInfinity, Double.NaN).map(
      Double.box
    ) :+
      Double.box(java.lang.Double.longBitsToDouble(0x7ff8000000000001L))
  private val texts = Seq("", "a", "ab", "abc", "b", "ba", "ä", "\uffff", "\ud83d\ude00").map(text)

  val all: Seq[ColumnKind] = Seq(
    ColumnKind("boolean v", Seq(Boolean.box(false), Boolean.box(true))),
    ColumnKind("int32 v", ints),
    ColumnKind("int32 v (INTEGER(8,true))", Seq(-128, -1, 0, 1, 127).map(Int.box)),
    ColumnKind("int32 v (INTEGER(32,false))", ints),
    ColumnKind("int32 v (DATE)", ints),
    ColumnKind("int32 v (DECIMAL(9,2))", ints),
    ColumnKind("int64 v", longs),
    ColumnKind("int64 v (INTEGER(64,false))", longs),
    ColumnKind("int64 v (TIMESTAMP(MICROS,true))", longs),
    ColumnKind("int64 v (DECIMAL(18,2))", longs),
    ColumnKind("float v", floats),
    ColumnKind("double v", doubles),
    ColumnKind(
      "binary v",
      Seq(bytes(), bytes(0), bytes(0, 0), bytes(127), bytes(128), bytes(255), bytes(255, 0))
    ),
    ColumnKind("binary v (STRING)", texts),
    // With and without more sign bits than they need.
    ColumnKind(
      "binary v (DECIMAL(20,2))",
      Seq(
        decimal(-1, 1),
        decimal(-1, 3),
        decimal(0, 1),
        decimal(0, 2),
        decimal(5, 1),
        decimal(5, 9),
        decimal(300, 2)
      )
    ),
    ColumnKind(
      "fixed_len_byte_array(2) v",
      Seq(bytes(0, 0), bytes(0, 1), bytes(127, 0), bytes(128, 0), bytes(255, 255))
    ),
    ColumnKind(
      "fixed_len_byte_array(9) v (DECIMAL(20,2))",
      Seq(-300L, -1L, 0L, 1L, 5L, 300L).map(decimal(_, 9))
    )
  )

  val int96: ColumnKind =
    ColumnKind(
      "int96 v",
      Seq(Binary.fromConstantByteArray(new Array(12)), bytes(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    )
}

/**
 * A column of a small file.
 *
 * @param rows null where the column is null
 */
private[summary] final class SmallColumn(val kind: ColumnKind, val name: String, val rows: Seq[AnyRef]) {
  val leaf: PrimitiveType = kind.leaf(name)
  val nulls: Long = rows.count(_ == null).toLong
  private val values = rows.filter(_ != null)

  /** As a writer makes it; none if one of the values is NaN. */
  def range: Option[ColumnSummary] = {
    val statistics: Statistics[_] = Statistics.createStats(leaf)
    values.foreach {
      case int: Integer => statistics.updateStats(int)
      case long: java.lang.Long => statistics.updateStats(long)
      case float: java.lang.Float => statistics.updateStats(float)
      case double: java.lang.Double => statistics.updateStats(double)
      case boolean: java.lang.Boolean => statistics.updateStats(boolean)
      case binary: Binary => statistics.updateStats(binary)
      case other => throw new IllegalArgumentException(other.toString)
    }
    val bounds = if (values.isEmpty) None else Some(statistics.getMinBytes -> statistics.getMaxBytes)
    if (values.exists(Comparison.isNaN)) None else Some(ColumnSummary.Range(bounds, nulls))
  }

  def collected(collector: Collector): Option[ColumnSummary] = {
    values.foreach(collector.add)
    if (collector.gaveUp) None else collector.result(nulls)
  }

  def list: Option[ColumnSummary] = collected(new ListCollector(64))
  def bloom: Option[ColumnSummary] =
    if (Leaves.isHashed(leaf)) collected(new BloomCollector(0.01, None)) else None

  def known(summaries: (SummaryKind, Option[ColumnSummary])*): (Seq[String], KnownColumn) =
    Seq(name) -> new KnownColumn(leaf, summaries.collect { case (of, Some(summary)) => of -> summary })
}

private[summary] object SmallColumn {
  def random(random: Random, kind: ColumnKind, name: String, rows: Int): SmallColumn = {
    // Files of few distinct values, as sorted or partitioned tables have them.
    val some = random.shuffle(kind.values).take(1 + random.nextInt(3))
    val share = Seq(0, 0, 30, 100)(random.nextInt(4))
    new SmallColumn(
      kind,
      name,
      Seq.fill(rows)(if (random.nextInt(100) < share) null else some(random.nextInt(some.size)))
    )
  }

  /** A column as predicates name it, whatever its type. */
  def column(kind: ColumnKind, name: String): org.apache.parquet.filter2.predicate.Operators.Column[_] =
    kind.values.head match {
      case _: Integer => FilterApi.intColumn(name)
      case _: java.lang.Long => FilterApi.longColumn(name)
      case _: java.lang.Float => FilterApi.floatColumn(name)
      case _: java.lang.Double => FilterApi.doubleColumn(name)
      case _: java.lang.Boolean => FilterApi.booleanColumn(name)
      case _ => FilterApi.binaryColumn(name)
    }
}
