package io.pmeparquet.parquet

import java.nio.file.{Files, Path => LocalPath}

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter
import org.apache.parquet.io.ColumnIOFactory

import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.StoredFormats

/** Data files that earlier builds have written with keys of every kind. */
class StoredFilesSuite extends WrittenFilesSuite with StoredFormats {
  private type Options = Seq[(String, String)]
  private val columns = Seq("footerKey" -> "f", "columnKeys" -> "n: name")

  /** How each file was written, and what its reader must say. */
  private val kinds: Seq[(String, Options, Options)] = Seq(
    ("columns", columns, Nil),
    ("columns-external", columns :+ "keyMaterial" -> "external", Nil),
    ("uniform-192", Seq("uniformKey" -> "f", "dataKeyBits" -> "192"), Nil),
    (
      "signed-single",
      columns ++
        Seq("plaintextFooter" -> "true", "doubleWrapping" -> "false", "unlistedColumns" -> "plaintext"),
      Nil
    ),
    (
      "ctr-prefix",
      columns ++ Seq("algorithm" -> "AES_GCM_CTR_V1", "aadPrefix" -> "people"),
      Seq("algorithm" -> "AES_GCM_CTR_V1")
    ),
    (
      "supplied-prefix",
      columns ++ Seq("aadPrefix" -> "people", "storeAadPrefix" -> "false"),
      Seq("aadPrefix" -> "people")
    ),
    ("direct", columns :+ "keyManagement" -> "direct", Seq("keyManagement" -> "direct"))
  )

  private def folder(kind: String, written: Options): LocalPath = stored(s"files-1/$kind") { table =>
    val file = local(write(table, kms("f", "n"), written: _*)())
    val material = Files.list(table).iterator.asScala.filter(_ != file).toSeq
    assertEquals(material.size, if (kind == "columns-external") 1 else 0, material)
  }

  for ((kind, written, read) <- kinds) test(s"a file of an earlier build opens with its rows: $kind") {
    val table = folder(kind, written)
    val files = Files.list(table).iterator.asScala.filter(_.toString.endsWith(".parquet")).toSeq
    assertEquals(files.size, 1)
    val split = new SplitReader(reader(kms("f", "n"), read: _*), new Path(files.head.toUri), conf)
    val found =
      try
        split.rowGroups(0, Long.MaxValue / 2, schema, None, vectorized = false).toSeq.flatMap { group =>
          val rows = new ColumnIOFactory()
            .getColumnIO(schema)
            .getRecordReader(group.pages(None), new GroupRecordConverter(schema))
          (0L until group.rowCount).map(_ => rows.read()).map { row =>
            row.getInteger("id", 0) ->
              (if (row.getFieldRepetitionCount("name") == 0) None else Some(row.getString("name", 0)))
          }
        }
      finally split.close()
    assertEquals(found, (0 until 300).map(id => id -> (if (id % 3 > 0) Some(s"name ${id % 20}") else None)))
  }
}
