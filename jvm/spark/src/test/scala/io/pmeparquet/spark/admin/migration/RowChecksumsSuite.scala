package io.pmeparquet.spark.admin.migration

import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.types.UTF8String

/**
 * What a migration compares: any difference between two files is found, except between 0.0 and -0.0, and between two NaNs.
 * The order of rows is none.
 */
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

  test("what is behind a NULL of a batch is no value, whether or not Spark compiles") {
    def checksums(behind: Long) = {
      val column = new OnHeapColumnVector(1, ArrayType(LongType))
      column.arrayData().appendLong(5)
      column.arrayData().appendLong(behind)
      column.arrayData().putNull(1)
      column.putArray(0, 0, 2)
      val row = new ColumnarBatch(Array[ColumnVector](column), 1).getRow(0)
      RowChecksums.of(Iterator.single(row), new StructType().add("list", ArrayType(LongType)))(() => ())
    }
    for (mode <- Seq("CODEGEN_ONLY", "NO_CODEGEN")) {
      val conf = new SQLConf
      conf.setConfString("spark.sql.codegen.factoryMode", mode)
      SQLConf.withExistingConf(conf)(assertEquals(checksums(0), checksums(7), mode))
    }
  }

  test("values in a list, map or struct are found where others are NULL, and NULLs where there are none") {
    def list(values: Any*) = new GenericArrayData(values.toArray[Any])
    def map(values: Any*) = new ArrayBasedMapData(list(values.indices: _*), list(values: _*))
    val pair = new StructType().add("a", IntegerType).add("b", IntegerType)
    val kinds = Seq[(DataType, Seq[Any])](
      ArrayType(IntegerType) -> Seq(
        null,
        list(),
        list(null),
        list(null, null),
        list(1),
        list(1, null),
        list(null, 1)
      ),
      MapType(IntegerType, IntegerType) -> Seq(null, map(), map(null), map(null, 1), map(1, null)),
      pair -> Seq(null, InternalRow(null, null), InternalRow(1, null), InternalRow(null, 1)),
      ArrayType(pair) -> Seq(list(null), list(InternalRow(null, null)), list(InternalRow(null, null), null)),
      new StructType().add("list", ArrayType(IntegerType)) ->
        Seq(null, InternalRow(null), InternalRow(list()), InternalRow(list(null)))
    )
    for ((kind, values) <- kinds) {
      val schema = new StructType().add("id", IntegerType).add("value", kind)
      def of(rows: InternalRow*) = RowChecksums.of(rows.iterator, schema)(() => ())
      assertEquals(values.map(value => of(InternalRow(1, value))).distinct.size, values.size, kind.sql)
      val (one, two) = (values(1), values.last)
      val moved = of(InternalRow(1, two), InternalRow(2, one))
      val difference = of(InternalRow(1, one), InternalRow(2, two)).difference(moved, schema)
      assertEquals(difference, Some("values of its columns are in other rows."), kind.sql)
    }
  }
}
