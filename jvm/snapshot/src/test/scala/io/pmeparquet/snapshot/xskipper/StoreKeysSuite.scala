package io.pmeparquet.snapshot.xskipper

import java.nio.file.{Files, Path => LocalPath}
import java.util.Collections

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.FileEncryptionProperties
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext
import org.apache.parquet.schema.MessageTypeParser

import io.pmeparquet.columns.{ColumnKeys, ColumnPattern, NamePattern, UnlistedColumns}
import io.pmeparquet.options.{EncryptionAlgorithm, FileSettings, WriteSettings}
import io.pmeparquet.parquet.scope.Scopes
import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.snapshot.xskipper.MadeStores.{json, minMax, write}

/** Encrypted stores: made in any way, and as an export writes them. */
class StoreKeysSuite extends StoreSuite {
  private val Columns = Seq("a", "b", "c")
    .map(name => s"optional group ${name}_minmax_1 { optional int32 min; optional int32 max; }")
    .mkString

  private def bounds(row: Group): Unit = Seq("a", "b", "c").foreach { name =>
    row.addGroup(s"${name}_minmax_1").append("min", 1).append("max", 2)
  }

  private def described(footer: String, labels: (String, Option[String])*): String = {
    val stated = labels.flatMap { case (name, label) => label.map(name -> _) }
    val list = stated.map { case (name, label) => s"$label:${name}_minmax_1.min,${name}_minmax_1.max" }
    val id = s"""{"version":1,"tableIdentifier":"t","encryption":{"encryption.column.keys":"${list.mkString(
        ";"
      )}",""" +
      s""""encryption.footer.key":"$footer"}}"""
    json(
      id.replace(":1,", ":4,"),
      labels.map { case (name, label) =>
        minMax(s"${name}_minmax_1", name, "integer", label.fold("")(one => s""","key_metadata":"$one""""))
      }: _*
    )
  }

  private def encrypted(root: LocalPath, keys: (String, String)*): Option[FileEncryptionProperties] = {
    val entries = keys.map { case (name, key) =>
      val field = s"${name}_minmax_1"
      ColumnKeys.Entry(key, ColumnPattern(field, Seq(NamePattern(field, quoted = true))))
    }
    val settings = FileSettings(
      "footer",
      Some(ColumnKeys(entries)).filter(_ => entries.nonEmpty),
      UnlistedColumns.UseFooterKey,
      EncryptionAlgorithm.AesGcmV1,
      plaintextFooter = false,
      dataKeyBits = None,
      kekBits = 128,
      doubleWrapping = true,
      externalMaterial = false,
      directKeys = false,
      aadPrefix = None,
      storeAadPrefix = true,
      caseSensitive = true,
      cryptoProvider = "auto"
    )
    val scope = Scopes.forWrite(WriteSettings(kms("footer", "k1", "k2"), settings), root.toString, conf)
    val own = new Configuration(conf)
    PmeCryptoFactory.useForWrite(own, scope)
    val schema =
      MessageTypeParser.parseMessageType(s"message spark_schema { required binary obj_name; $Columns }")
    val context = new WriteContext(schema, Collections.emptyMap[String, String])
    val properties =
      new PmeCryptoFactory().getFileEncryptionProperties(own, hadoop(root.resolve("part-0.parquet")), context)
    require(scope.id != null)
    Some(properties)
  }

  private def columnsOf(rows: Seq[StoreRow]) = rows.map(_.summaries.map(_._1.columns.head).toSet)

  table.test("one missing key costs one index") { root =>
    val keys = encrypted(root, "a" -> "k1", "b" -> "k2")
    write(root, described("footer", "a" -> Some("k1"), "b" -> Some("k2"), "c" -> None), Columns, keys)(
      "/t/a#1" -> bounds _
    )
    val (all, none) = rowsOf(root, "footer", "k1", "k2")
    assertEquals(columnsOf(all), Seq(Set("a", "b", "c")))
    assertEquals(none, Nil)
    val (some, problems) = rowsOf(root, "footer", "k1")
    assertEquals(columnsOf(some), Seq(Set("a", "c")))
    assertEquals(problems.size, 1)
    assert(problems.head.contains("'k2'"), problems.head)
    val (nothing, whole) = rowsOf(root, "k1")
    assertEquals(nothing, Nil)
    assert(whole.head.contains("'footer'"), whole.head)
  }

  table.test("an index whose label is not the key of its column is not used") { root =>
    val keys = encrypted(root, "a" -> "k1", "b" -> "k2")
    write(root, described("footer", "a" -> Some("k2"), "b" -> Some("k2"), "c" -> Some("k1")), Columns, keys)(
      "/t/a#1" -> bounds _
    )
    val (rows, problems) = rowsOf(root, "footer", "k1", "k2")
    assertEquals(columnsOf(rows), Seq(Set("b")))
    assertEquals(problems.size, 2)
    assert(problems.forall(_.contains("which is not the key of that column")), problems)
  }

  table.test("an index is not used if the list of keys has another one for its column, or none") { root =>
    val keys = encrypted(root, "a" -> "k1", "b" -> "k2")
    val labels = Seq("a" -> Some("k1"), "b" -> Some("k2"), "c" -> None)
    def columnsWith(from: String, to: String): (Seq[Set[String]], Seq[String]) = {
      val store = Files.createTempDirectory(root, "store")
      write(store, described("footer", labels: _*).replace(from, to), Columns, keys)("/t/a#1" -> bounds _)
      val (rows, problems) = rowsOf(store, "footer", "k1", "k2")
      (columnsOf(rows), problems)
    }
    assertEquals(columnsWith("", "")._1, Seq(Set("a", "b", "c")))
    val changes = Seq(
      ("k1:a_minmax_1.min,", "k2:a_minmax_1.min;k1:", "a"),
      ("k1:a_minmax_1.min,", "k1:", "a"),
      ("k2:b_minmax_1.min", "k1:b_minmax_1.min;k2:b_minmax_1.min", "b"),
      ("k1:a_minmax_1.min", "k1:c_minmax_1.min,a_minmax_1.min", "c")
    )
    changes.foreach { case (from, to, lost) =>
      val (columns, problems) = columnsWith(from, to)
      assertEquals(columns, Seq(Set("a", "b", "c") - lost))
      val expected = s"its list of keys is not that of the file for column '${lost}_minmax_1'"
      assert(problems.exists(_.contains(expected)), problems)
    }
  }

  table.test("a store that states another footer key, or keys without encryption, is not used") { root =>
    write(root.resolve("1"), described("k1", "a" -> None), Columns, encrypted(root.resolve("1")))(
      "/t/a#1" -> bounds _
    )
    write(root.resolve("2"), described("footer", "a" -> Some("k1")), Columns)("/t/a#1" -> bounds _)
    for (store <- Seq("1", "2")) {
      val (rows, problems) = rowsOf(root.resolve(store), "footer", "k1")
      assertEquals(rows, Nil)
      assert(problems.head.contains("which is not the one of its footer"), problems)
    }
  }

  table.test("what an export writes is read as it was, under the keys that it states") { root =>
    val index = StoreShape.Index(StoreShape.MinMax, "a.B#".toLowerCase, StoredType.Int, Some("k1"))
    val list = StoreShape.Index(StoreShape.ValueList, "s", StoredType.Text, Some("k2"))
    val keys = new StoreKeys("footer", plaintextFooter = false, Seq(index.field -> "k1", list.field -> "k2"))
    val shape = new StoreShape("/t", Seq("day" -> StoredType.Int), Seq(index, list), Some(keys))
    val number = StoredType.bytes(_: Int)
    val summaries = Seq(
      ColumnSummary.Range(Some(number(1) -> number(5)), 0),
      ColumnSummary.ValueList(List("x".getBytes, "".getBytes), 3)
    )
    val row = StoreShape.Row("/t/day=1/a#7", Seq(Some(number(1))), summaries)
    val writer = new StoreWriter(shape, kms("footer", "k1", "k2"), conf)
    writer.write(hadoop(root), Iterator(row))
    writer.write(hadoop(root), Iterator(row, row.copy(id = "/t/day=1/b#8")))
    assertEquals(root.toFile.list.filterNot(_.startsWith(".")).toSeq, Seq(StoreWriter.Name))
    val (rows, problems) = rowsOf(root, "footer", "k1", "k2")
    assertEquals(problems, Nil)
    assertEquals(rows.map(_.id.modified), Seq(7L, 8L))
    assertEquals(
      shown(rows.head).toMap,
      Map[String, Any]("minmax a.b#" -> (("1", "5")), "valuelist s" -> Set("x", ""))
    )
    assertEquals(
      rows.head.summaries.map { case (index, _) => index.field -> index.key.get }.toMap,
      Map("a$#$b##_minmax_7" -> "k1", "s_valuelist_1" -> "k2")
    )
    Files.write(root.resolve("part-1.parquet"), Array[Byte](1))
    refused("PME_BAD_OPTION", "part-1.parquet")(writer.write(hadoop(root), Iterator(row)))
  }
}
