package io.pmeparquet.parquet.summary

import munit.FunSuite
import org.apache.parquet.schema.{LogicalTypeAnnotation, Type, Types}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

class ColumnTypeTextSuite extends FunSuite {
  private val names = Seq("city", "full name", "a;b", "x (STRING)", "y = 1", "{z}", "binary", "c", "a.b")

  test("the type of a column is read whatever its name is") {
    for {
      name <- names
      typed <- Seq(
        Types.optional(INT64),
        Types.required(BINARY).as(LogicalTypeAnnotation.stringType()),
        Types.optional(FIXED_LEN_BYTE_ARRAY).length(16).as(LogicalTypeAnnotation.decimalType(2, 30)),
        Types.repeated(INT32).as(LogicalTypeAnnotation.dateType())
      )
    } {
      val leaf: Type = typed.named(name)
      assertEquals(ColumnTypeText.parsed(leaf.toString, name).map(one => one: Type), Some(leaf))
    }
  }

  test("a type that parquet-java does not know, and the name of another column, are none") {
    assertEquals(ColumnTypeText.parsed("optional int256 n", "n"), None)
    assertEquals(ColumnTypeText.parsed("optional int64 n (TOMORROW)", "n"), None)
    assertEquals(ColumnTypeText.parsed("optional int64 n", "m"), None)
    assertEquals(ColumnTypeText.parsed("optional int64 n; optional int64 m", "n"), None)
    assertEquals(ColumnTypeText.parsed("", "n"), None)
  }
}
