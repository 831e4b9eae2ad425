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
import org.apache.spark.sql.types.StructType

import io.pmeparquet.spark.{EachSpark, SparkSuite}
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.Condition

/** How a migration reads ORC files that Spark itself does not write. */
class FileRowsSuite extends SparkSuite with EachSpark {
  private lazy val conf = SparkAccess.hadoopConf(spark, Map.empty)

  /** Writes one row with a map of two entries, in lists and structs of one element each. */
  private def written(name: String, kind: String, secondKey: Option[Long]): Path = {
    val path = new Path(directory.resolve(name).toUri)
    val schema = TypeDescription.fromString(s"struct<m:$kind>")
    val writer = OrcWriters.createWriter(path, OrcWriters.writerOptions(conf).setSchema(schema))
    val batch = schema.createRowBatch()
    val map = mapIn(batch.cols(0))
    map.childCount = 2
    map.lengths(0) = 2
    val keys = map.keys.asInstanceOf[LongColumnVector]
    keys.vector(0) = 1
    keys.noNulls = secondKey.isDefined
    keys.isNull(1) = secondKey.isEmpty
    keys.vector(1) = secondKey.getOrElse(0)
    batch.size = 1
    writer.addRowBatch(batch)
    writer.close()
    path
  }

  private def mapIn(column: ColumnVector): MapColumnVector = column match {
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
    val rows = FileRows.reader(spark, new OrcFileFormat, schema, Map.empty, conf)
    RowChecksums.of(rows.of(path, status.getLen, status.getModificationTime), schema)(() => ())
  }

  for (
    kind <- Seq(
      "map<int,int>",
      "array<map<int,int>>",
      "struct<a:map<int,int>>",
      "array<struct<a:map<int,int>>>"
    )
  )
    test(s"a NULL as a key is refused, and not taken for another key: $kind") {
      assertEquals(checksums(written("keys.orc", kind, Some(2)), kind).rows, 1L)
      val file = written("null.orc", kind, None)
      refused(Condition.Unsupported, "column 'm' has a map with a NULL as a key")(checksums(file, kind))
    }
}
