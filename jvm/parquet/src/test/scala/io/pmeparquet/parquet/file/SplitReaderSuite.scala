package io.pmeparquet.parquet.file

import java.lang.ref.Reference
import java.nio.file.Files
import java.util.Base64

import scala.collection.JavaConverters._

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.hadoop.metadata.{ColumnPath, CompressionCodecName}
import org.apache.parquet.io.ColumnIOFactory
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import io.pmeparquet.{PmeException, Secret}
import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KmsUse}
import io.pmeparquet.kms.local.StaticSettings
import io.pmeparquet.options.{Level, OptionValues, Settings}
import io.pmeparquet.parquet.chunk.Rows
import io.pmeparquet.parquet.scope.{ReadScope, Scopes}
import io.pmeparquet.parquet.PmeCryptoFactory

/** Files that parquet-java writes under our keys and the page pipeline reads: what it reads, and at what cost. */
class SplitReaderSuite extends FunSuite {
  private val RowCount = 1000
  private val ManyRows = 30000
  private val PageRows = 100
  private val schema = MessageTypeParser.parseMessageType(
    "message m { required int32 id; optional binary name (UTF8); required int64 other; }"
  )

  private def kmsOf(keys: String*) = KmsUse(
    StaticSettings(
      new Secret(
        keys
          .map(name => s"$name=${Base64.getEncoder.encodeToString(Array.fill(16)(name.head.toByte))}")
          .mkString("\n")
      )
    ),
    None,
    KeyAudit.off(KeyPurpose.Read)
  )
  private val use = kmsOf("f", "n")
  private def values(options: (String, String)*) =
    new OptionValues(Map(Level.Option -> options.map { case (name, value) =>
      name.toLowerCase -> value
    }.toMap))

  private def readScope(options: (String, String)*): ReadScope = readScope(use, options: _*)

  private def readScope(use: KmsUse, options: (String, String)*): ReadScope = {
    // A number of seconds that no other test uses, since equal settings share a scope.
    SplitReaderSuite.scopes += 1
    val own = "parquet.encryption.cache.lifetime.seconds" -> (1000 + SplitReaderSuite.scopes).toString
    Scopes.forRead(use, Settings.forRead(values(options :+ own: _*)), new Configuration(false))
  }

  private def written(options: (String, String)*): Path = written(RowCount, options: _*)

  private def written(rows: Int, options: (String, String)*): Path =
    written(rows, None, options: _*)

  /**
   * @param otherValues how many distinct values column `other` has, in a dictionary; none for a plain one in each row
   */
  private def written(rows: Int, otherValues: Option[Int], options: (String, String)*): Path = {
    val directory = Files.createTempDirectory("paged")
    val file = new Path(directory.toUri.toString, "f.parquet")
    val settings = Settings.forWrite(
      values(options ++ Seq("footerKey" -> "f", "columnKeys" -> "n: name"): _*),
      use,
      caseSensitive = true
    )
    val conf = new Configuration(false)
    val scope = Scopes.forWrite(settings, directory.toString, conf)
    PmeCryptoFactory.useForWrite(conf, scope)
    val writer = ExampleParquetWriter
      .builder(file)
      .withConf(conf)
      .withType(schema)
      .withCompressionCodec(CompressionCodecName.SNAPPY)
      .withPageRowCountLimit(PageRows)
      .withDictionaryEncoding(otherValues.isDefined)
      .build()
    val groups = new SimpleGroupFactory(schema)
    (0 until rows).foreach { i =>
      val group = groups.newGroup().append("id", i)
      if (i % 3 > 0) group.append("name", s"name $i")
      writer.write(group.append("other", otherValues.fold(i * 7L)(i % _.toLong)))
    }
    writer.close()
    // A write's scope lives only as long as its writer holds it.
    Reference.reachabilityFence(scope)
    file
  }

  private def opened[A](scope: ReadScope, path: Path)(use: SplitReader => A): A = {
    val file = new SplitReader(scope, path, new Configuration(false))
    try use(file)
    finally file.close()
  }

  private def groupsOf(file: SplitReader, requested: MessageType, filter: Option[FilterPredicate] = None) =
    file.rowGroups(0, Long.MaxValue / 2, requested, filter, vectorized = true).toList

  private def ids(pages: PageReadStore, requested: MessageType): Seq[Int] = {
    val reader =
      new ColumnIOFactory()
        .getColumnIO(requested, schema)
        .getRecordReader(pages, new GroupRecordConverter(requested))
    (0L until pages.getRowCount).map(_ => reader.read().getInteger("id", 0))
  }

  private def only(columns: String*) =
    new MessageType("m", columns.map(name => schema.getFields.get(schema.getFieldIndex(name))).asJava)

  test(
    "if only the file states its AAD prefix, a protected column must prove that the footer is a footer"
  ) {
    val lacking = kmsOf("f")
    def read(file: Path, use: KmsUse, options: (String, String)*): Int = {
      SplitReaderSuite.scopes += 1
      val own = "parquet.encryption.cache.lifetime.seconds" -> (1000 + SplitReaderSuite.scopes).toString
      val scope = Scopes.forRead(use, Settings.forRead(values(options :+ own: _*)), new Configuration(false))
      opened(scope, file)(groupsOf(_, only("id")).flatMap(group => ids(group.pages(None), only("id"))).size)
    }
    val named = "aadPrefix" -> "orders"
    Seq("footerKey", "plaintext").foreach { unlisted =>
      val file = written(named, "unlistedColumns" -> unlisted)
      assertEquals(read(file, use), RowCount)
      assertEquals(read(file, lacking, named), RowCount)
      // The first page header of a column under the footer key proves it, too.
      if (unlisted == "footerKey") assertEquals(read(file, lacking), RowCount)
      else {
        val failed = intercept[PmeException](read(file, lacking))
        assertEquals(failed.getCondition(), "PME_AAD_PREFIX")
      }
    }
  }

  private val ways = Seq(
    Seq.empty,
    Seq("plaintextFooter" -> "true"),
    Seq("algorithm" -> "AES_GCM_CTR_V1"),
    Seq("keyMaterial" -> "external"),
    Seq("doubleWrapping" -> "false", "dataKeyBits" -> "256"),
    Seq("aadPrefix" -> "{file}", "storeAadPrefix" -> "false")
  )

  ways.foreach { way =>
    test(
      s"a file written with ${if (way.isEmpty) "the defaults" else way.mkString(", ")} is read completely"
    ) {
      val scope = readScope(way.filter { case (name, _) => name == "algorithm" || name == "aadPrefix" }: _*)
      opened(scope, written(way: _*)) { file =>
        val groups = groupsOf(file, schema)
        assertEquals(groups.flatMap(group => ids(group.pages(None), schema)), (0 until RowCount).toList)
      }
    }
  }

  test(
    "a file whose columns are under other keys than the reader names is refused before any key request"
  ) {
    val scope = readScope("footerKey" -> "f", "columnKeys" -> "f: id; n: other")
    val refused = intercept[PmeException](opened(scope, written())(_ => ()))
    assertEquals(refused.getCondition(), "PME_KEY_METADATA")
    Seq("column 'name'", "encrypted with key 'n'", "unlistedColumns=footerKey").foreach(words =>
      assert(refused.getMessage.contains(words), refused.getMessage)
    )
    // The footer's key.
    assertEquals(scope.counters.keys.sum, 1L)
    val other = readScope("footerKey" -> "n", "columnKeys" -> "n: name")
    assertEquals(
      intercept[PmeException](opened(other, written())(_ => ())).getCondition(),
      "PME_KEY_METADATA"
    )
    assertEquals(other.counters.keys.sum, 0L)
  }

  test("a reader that names the file's own keys reads it, and parses no more key metadata for that") {
    ways.foreach { way =>
      val options = way.filter { case (name, _) => name == "algorithm" || name == "aadPrefix" }
      val scope = readScope(options ++ Seq("footerKey" -> "f", "columnKeys" -> "n: name"): _*)
      opened(scope, written(way: _*)) { file =>
        assertEquals(
          groupsOf(file, only("id")).flatMap(group => ids(group.pages(None), only("id"))).size,
          RowCount
        )
      }
      assertEquals(scope.counters.keys.sum, 1L)
    }
  }

  test("a scan of one file costs one read of its footer and one of its columns") {
    val scope = readScope()
    val path = written(ManyRows)
    assert(Files.size(java.nio.file.Paths.get(path.toUri)) > 100 * 1024)
    opened(scope, path)(file => groupsOf(file, schema).foreach(group => ids(group.pages(None), schema)))
    // One read returns the footer's bytes, and the columns are next to each other.
    assertEquals(scope.counters.reads.sum, 2L)
  }

  test("a scan of a small file costs one read") {
    val scope = readScope()
    val path = written()
    opened(scope, path)(file => groupsOf(file, schema).foreach(group => ids(group.pages(None), schema)))
    val pages = 3 * RowCount / PageRows
    assertEquals(scope.counters.reads.sum, 1L)
    assertEquals(scope.counters.footers.sum, 1L)
    // The footer's key, and that of `name`; `id` and `other` have the footer's.
    assertEquals(scope.counters.keys.sum, 2L)
    // The footer, the metadata of `name`, and a header and a body for each page.
    assertEquals(scope.counters.modules.sum, 1L + 1 + 2 * pages)
  }

  test("opening the same file again reads no footer and requests no key") {
    val scope = readScope()
    val path = written()
    (1 to 3).foreach(_ => opened(scope, path)(file => groupsOf(file, only("id"))))
    assertEquals(scope.counters.footers.sum, 1L)
    assertEquals(scope.counters.keys.sum, 1L)
    assertEquals(scope.counters.reads.sum, 1L)
  }

  test("nothing of an unwanted column is read or decrypted, and its key is not unwrapped") {
    val scope = readScope(kmsOf("f"))
    opened(scope, written()) { file =>
      assertEquals(
        groupsOf(file, only("id")).flatMap(group => ids(group.pages(None), only("id"))).size,
        RowCount
      )
    }
    assertEquals(scope.counters.modules.sum, 1L + 2 * RowCount / PageRows)
    val failed = intercept[PmeException](opened(scope, written())(groupsOf(_, schema)))
    assertEquals(failed.getCondition(), "PME_KEY_NOT_FOUND")
    assert(failed.getMessage.contains("column 'name'"))
  }

  test("with a filter only pages that may hold a match are decrypted") {
    val scope = readScope()
    val filter = FilterApi.eq(FilterApi.intColumn("id"), Int.box(555))
    opened(scope, written()) { file =>
      val group = groupsOf(file, schema, Some(filter)).head
      assertEquals(group.rowCount, PageRows.toLong)
      assertEquals(ids(group.pages(None), schema), (500 until 600).toList)
    }
    // The footer, the metadata of `name`, a column index, three offset indexes, and one page of each column.
    assertEquals(scope.counters.modules.sum, 1L + 1 + 1 + 3 + 2 * 3)
  }

  test("the scan does not decrypt a dictionary again that a filter has used") {
    val scope = readScope()
    val filter = FilterApi.eq(FilterApi.longColumn("other"), Long.box(3))
    opened(scope, written(RowCount, otherValues = Some(7))) { file =>
      val pages = groupsOf(file, only("other"), Some(filter)).head.pages(None)
      val chunk = pages.getPageReader(schema.getColumns.get(2))
      assert(chunk.readDictionaryPage() != null)
      assertEquals(Iterator.continually(chunk.readPage()).takeWhile(_ != null).size, RowCount / PageRows)
    }
    // The footer, a column index, an offset index, a dictionary, and the pages.
    assertEquals(scope.counters.modules.sum, 1L + 1 + 1 + 2 + 2 * RowCount / PageRows)
  }

  test("a filter that statistics rule out reads no page") {
    val scope = readScope()
    val filter = FilterApi.gt(FilterApi.intColumn("id"), Int.box(RowCount))
    opened(scope, written())(file => assertEquals(groupsOf(file, schema, Some(filter)), Nil))
    assertEquals(scope.counters.reads.sum, 1L)
  }

  test(
    "a negation skips the same row groups and pages as its opposite, and a filter on an unread column none"
  ) {
    val scope = readScope()
    def kept(filter: FilterPredicate, requested: MessageType) =
      opened(scope, path)(file => groupsOf(file, requested, Some(filter)).map(_.rowCount).sum)
    lazy val path = written()
    val id = FilterApi.intColumn("id")
    assertEquals(kept(FilterApi.not(FilterApi.gtEq(id, Int.box(0))), schema), 0L)
    assertEquals(kept(FilterApi.not(FilterApi.gtEq(id, Int.box(50))), schema), PageRows.toLong)
    assertEquals(kept(FilterApi.eq(id, Int.box(-1)), only("other")), RowCount.toLong)
  }

  test("rows chosen by one column cost only the pages of other columns that hold them") {
    val scope = readScope()
    opened(scope, written()) { file =>
      val group = groupsOf(file, schema).head
      assert(group.canSkip)
      val builder = new Rows.Builder
      // This test reads with parquet-column's assembly, which cannot take a lone last row.
      Seq(7L, 8L, 420L, 421L).foreach(builder.add)
      val first = ids(group.pages(Set(ColumnPath.get("id")), None), only("id"))
      assertEquals(first.size, RowCount)
      val before = scope.counters.modules.sum
      assertEquals(ids(group.pages(Some(builder.result())), schema), List(7, 8, 420, 421))
      // Three offset indexes, and two pages of each column.
      assertEquals(scope.counters.modules.sum - before, 3L + 2 * 2 * 3)
    }
  }

  test("every flipped bit in the columns of a GCM file is detected, with its column's name") {
    val path = written()
    val local = java.nio.file.Paths.get(path.toUri)
    val honest = Files.readAllBytes(local)
    // Hadoop's own checksum would detect it first.
    Files.delete(local.resolveSibling(".f.parquet.crc"))
    val end = honest.length - ModuleEnd.footerBytes(honest)
    val random = new java.util.Random(11)
    val places = Seq.fill(300)(4 + random.nextInt(end - 4)) ++ (4 until 60)
    val refused = places.map { place =>
      val bent = honest.clone()
      bent(place) = (bent(place) ^ (1 << random.nextInt(8))).toByte
      Files.write(local, bent)
      val scope = readScope()
      try {
        opened(scope, path)(file => groupsOf(file, schema).foreach(group => ids(group.pages(None), schema)))
        None
      } catch { case failed: PmeException => Some(failed) }
    }
    val noticed = refused.flatten
    assert(
      noticed.forall(failed => Set("PME_NOT_AUTHENTIC", "PME_DAMAGED_FILE").contains(failed.getCondition()))
    )
    assert(noticed.forall(_.getMessage.contains("column '")))
    // A full scan does not read the page indexes behind the columns.
    assert(noticed.size > places.size * 9 / 10, s"${noticed.size} of ${places.size}")
  }
}

private object ModuleEnd {
  def footerBytes(file: Array[Byte]): Int =
    io.pmeparquet.cipher.ModuleFrame.lengthAt(file, file.length - 8) + 8
}

private object SplitReaderSuite {
  var scopes = 0
}
