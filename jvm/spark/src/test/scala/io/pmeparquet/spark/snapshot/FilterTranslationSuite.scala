package io.pmeparquet.spark.snapshot

import java.math.BigDecimal

import org.apache.parquet.schema.{MessageType, MessageTypeParser}
import org.apache.spark.sql.catalyst.{expressions => catalyst}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources._
import org.apache.spark.sql.types.LongType

/** Which filters become predicates of files, where files are not as the read's schema. */
class FilterTranslationSuite extends munit.FunSuite {
  private def schema(fields: String): MessageType =
    MessageTypeParser.parseMessageType(s"message m { $fields }")

  private def paths(columns: String*) =
    FilterTranslation
      .union(columns.map(schema))
      .map(_.getPaths.toArray.toSeq.map(_.asInstanceOf[Array[String]].toSeq))

  test("columns make one schema, without those that lie in each other") {
    assertEquals(paths(), None)
    val id = "optional int64 id;"
    val street = "optional group a { optional binary street; }"
    val zip = "optional group a { optional int32 zip; }"
    assertEquals(paths(id, street, zip), Some(Seq(Seq("id"), Seq("a", "street"), Seq("a", "zip"))))
    assertEquals(paths(id, "optional int32 a;", street, zip), Some(Seq(Seq("id"))))
    assertEquals(paths("optional int32 a;", street), None)
  }

  private val values = new FilterTranslation.FileValues(
    schema(
      "optional int32 d (DECIMAL(5,2)); optional int64 e (DECIMAL(18,2)); optional binary f (DECIMAL(30,2));"
    ),
    caseSensitive = false
  )

  private def number(unscaled: String) = new BigDecimal(new java.math.BigInteger(unscaled), 2)

  test("a decimal is compared only with values that fit the integers of its file") {
    val (least, most) = (number("-2147483648"), number("2147483647"))
    val (below, above) = (number("-2147483649"), number("2147483648"))
    def filters(column: String, value: BigDecimal): Seq[Filter] = Seq(
      EqualTo(column, value),
      EqualNullSafe(column, value),
      LessThan(column, value),
      LessThanOrEqual(column, value),
      GreaterThan(column, value),
      GreaterThanOrEqual(column, value),
      In(column, Array(number("1"), value)),
      Not(EqualTo(column, value)),
      And(IsNotNull(column), LessThan(column, value)),
      Or(IsNull(column), LessThan(column, value))
    )
    for (column <- Seq("d", "D"); value <- Seq(least, most); filter <- filters(column, value))
      assertEquals(values.of(filter), Some(filter))
    for (column <- Seq("d", "D"); value <- Seq(below, above); filter <- filters(column, value))
      assertEquals(values.of(filter), None, filter.toString)
    val (largest, larger) = (number("9223372036854775807"), number("9223372036854775808"))
    filters("e", largest).foreach(filter => assertEquals(values.of(filter), Some(filter)))
    filters("e", larger).foreach(filter => assertEquals(values.of(filter), None))
    filters("f", larger).foreach(filter => assertEquals(values.of(filter), Some(filter)))
    assertEquals(values.of(EqualTo("d", null)), Some(EqualTo("d", null)))
  }

  test("AND gives the predicates of the sides that have one, and OR needs one of each side") {
    val translation = new FilterTranslation(new SQLConf, schema("optional int64 id; optional int64 n;"))
    def predicates(filter: catalyst.Expression) = translation.of(Seq(filter)).map(_.toString)
    val (id, n) =
      (catalyst.AttributeReference("id", LongType)(), catalyst.AttributeReference("n", LongType)())
    val known = catalyst.EqualTo(id, catalyst.Literal(7L))
    val other = catalyst.GreaterThan(n, catalyst.Literal(1L))
    val unknown = catalyst.EqualTo(catalyst.BitwiseAnd(n, catalyst.Literal(3L)), catalyst.Literal(1L))
    assertEquals(predicates(known), Seq("eq(id, 7)"))
    assertEquals(predicates(unknown), Nil)
    Seq(catalyst.And(known, unknown), catalyst.And(unknown, known)).foreach { both =>
      assertEquals(predicates(both), Seq("eq(id, 7)"))
      assertEquals(predicates(catalyst.Or(both, other)), Seq("or(eq(id, 7), gt(n, 1))"))
    }
    Seq(catalyst.Or(known, unknown), catalyst.Or(unknown, known)).foreach { either =>
      assertEquals(predicates(either), Nil)
      assertEquals(predicates(catalyst.And(either, other)), Seq("gt(n, 1)"))
    }
    assertEquals(predicates(catalyst.Not(catalyst.And(known, unknown))), Nil)
  }
}
