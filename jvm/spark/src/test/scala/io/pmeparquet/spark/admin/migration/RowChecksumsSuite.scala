package io.pmeparquet.spark.admin.migration

import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** What a migration compares: any difference between two files is found, and the order of rows is none. */
class RowChecksumsSuite extends munit.FunSuite {
  private val schema = new StructType()
    .add("id", LongType)
    .add("name", StringType)
    .add("tags", ArrayType(StringType))
    .add("scores", MapType(IntegerType, DoubleType))

  private def row(id: Any, name: String, tags: Seq[String] = Seq("a"), score: Double = 1.5): InternalRow = {
    val text = Option(name).map(UTF8String.fromString).orNull
    val map = ArrayBasedMapData(Array[Any](1), Array[Any](score))
    InternalRow(id, text, new GenericArrayData(tags.map(UTF8String.fromString).toArray[Any]), map)
  }

  private val rows = Seq(row(1L, "x"), row(2L, "y"), row(null, null), row(4L, "x"))

  private def difference(other: Seq[InternalRow]) = {
    def of(some: Seq[InternalRow]) = RowChecksums.of(some.iterator, schema)(() => ())
    of(rows).difference(of(other), schema)
  }

  test("the same rows in another order do not differ") {
    assertEquals(difference(rows.reverse), None)
  }

  test("a missing row is found") {
    assertEquals(difference(rows.tail), Some("it has 3 rows, and not 4."))
  }

  test("another value, a null and a value in another place are found by column") {
    def changed(name: String) = Some(s"column '$name' has other values.")
    assertEquals(difference(row(9L, "x") +: rows.tail), changed("id"))
    assertEquals(difference(row(1L, null) +: rows.tail), changed("name"))
    assertEquals(difference(row(1L, "x", Seq("a", "b")) +: rows.tail), changed("tags"))
    assertEquals(difference(row(1L, "x", score = 2.5) +: rows.tail), changed("scores"))
  }

  test("values that have moved to other rows are found") {
    val moved = Seq(row(1L, "y"), row(2L, "x")) ++ rows.drop(2)
    assertEquals(difference(moved), Some("values of its columns are in other rows."))
  }
}
