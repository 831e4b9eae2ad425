package io.pmeparquet.spark.admin.migration

import org.apache.hadoop.fs.Path
import org.apache.hadoop.hive.ql.exec.vector.{
  ColumnVector,
  ListColumnVector,
  LongColumnVector,
  MapColumnVector,
  StructColumnVector
}
import org.apache.orc.{OrcFile => OrcWriters, TypeDescription}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.types.{ArrayType, IntegerType, MapType, StructType}

import io.pmeparquet.spark.{EachSpark, SparkSuite}
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.Condition

/** How a migration reads ORC files that Spark itself does not write. */
class FileRowsSuite extends SparkSuite with EachSpark {
  private lazy val conf = SparkAccess.hadoopConf(spark, Map.empty)

  /**
   * Writes one row with a map of two entries, in lists, structs and maps of one element each. Their values are NULL, as
   * the whole map is without keys.
   */
  private def written(name: String, kind: String, keys: Option[Long]*): Path = {
    val path = new Path(directory.resolve(name).toUri)
    val schema = TypeDescription.fromString(s"struct<m:$kind>")
    val writer = OrcWriters.createWriter(path, OrcWriters.writerOptions(conf).setSchema(schema))
    val batch = schema.createRowBatch()
    val map = mapIn(batch.cols(0))
    nullIf(map, 0, keys.isEmpty)
    map.childCount = keys.length
    map.lengths(0) = keys.length
    for ((key, at) <- keys.zipWithIndex) {
      val column = map.keys.asInstanceOf[LongColumnVector]
      nullIf(column, at, key.isEmpty)
      column.vector(at) = key.getOrElse(0)
      nullIf(map.values, at, isNull = true)
    }
    batch.size = 1
    writer.addRowBatch(batch)
    writer.close()
    path
  }

  private def nullIf(column: ColumnVector, at: Int, isNull: Boolean): Unit = if (isNull) {
    column.noNulls = false
    column.isNull(at) = true
  }

  private def mapIn(column: ColumnVector): MapColumnVector = column match {
    case outer: MapColumnVector if outer.values.isInstanceOf[MapColumnVector] =>
      outer.childCount = 1
      outer.lengths(0) = 1
      mapIn(outer.values)
    case map: MapColumnVector => map
    case list: ListColumnVector =>
      list.childCount = 1
      list.lengths(0) = 1
      mapIn(list.child)
    case struct: StructColumnVector => mapIn(struct.fields(0))
    case other => fail(other.getClass.getName)
  }

  private def checksums(path: Path, kind: String) = {
    val schema = new StructType().add("m", kind)
    val status = path.getFileSystem(conf).getFileStatus(path)
    val rows = FileRows.reader(spark, new OrcFileFormat, schema, Map.empty, conf, "db.t")
    RowChecksums.of(rows.of(path, status.getLen, status.getModificationTime), schema)(() => ())
  }

  for (
    kind <- Seq(
      "map<int,int>",
      "array<map<int,int>>",
      "struct<a:map<int,int>>",
      "array<struct<a:map<int,int>>>",
      "map<int,map<int,int>>"
    )
  )
    test(s"a NULL as a key is refused, and not taken for another key: $kind") {
      assertEquals(checksums(written("keys.orc", kind, Some(1), Some(2)), kind).rows, 1L)
      assertEquals(checksums(written("none.orc", kind), kind).rows, 1L)
      val file = written("null.orc", kind, Some(1), None)
      refused(Condition.Unsupported, "column 'm' has a map with a NULL as a key")(checksums(file, kind))
    }

  for (reader <- Seq("enableVectorizedReader", "enableNestedColumnVectorizedReader"))
    test(s"maps are not read row by row, which loses one of two equal keys: $reader") {
      val file = written("twice.orc", "map<int,int>", Some(1), Some(1))
      spark.conf.set(s"spark.sql.orc.$reader", "false")
      try
        refused(Condition.Unsupported, "db.t", "column 'm' has maps", reader)(checksums(file, "map<int,int>"))
      finally spark.conf.unset(s"spark.sql.orc.$reader")
      val once = checksums(written("once.orc", "map<int,int>", Some(1)), "map<int,int>")
      assertNotEquals(checksums(file, "map<int,int>"), once)
    }

  test("columns of the copy allow NULLs, also within them, whatever a catalog says") {
    val strict = StructType
      .fromDDL("a INT NOT NULL, s STRUCT<b: ARRAY<INT> NOT NULL> NOT NULL")
      .add("m", MapType(IntegerType, ArrayType(IntegerType, containsNull = false), valueContainsNull = false))
    val allowed = StructType.fromDDL("a INT, s STRUCT<b: ARRAY<INT>>, m MAP<INT, ARRAY<INT>>")
    assertEquals(OrcMigrationRun.nullable(strict), allowed)
  }
}
