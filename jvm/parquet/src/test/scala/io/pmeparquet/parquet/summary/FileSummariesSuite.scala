package io.pmeparquet.parquet.summary

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.ISO_8859_1

import munit.FunSuite
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.io.api.Binary
import SummaryFiles._

import io.pmeparquet.PmeException

/** Summaries of encrypted files: what they hold, and what they cost. */
class FileSummariesSuite extends FunSuite {
  private val Rows = 5000
  private val list = SummaryKind.ValueList(64)
  private val bloom = SummaryKind.Bloom(0.01, None)
  private def byClass(name: String, settings: (String, String)*) =
    SummaryKind.OfClass(s"io.pmeparquet.parquet.summary.$name", settings)

  private val schema = "required int64 id; optional binary city (STRING); " +
    "optional group home { optional int32 number; } repeated int32 many; required double share;"
  private val cities = Seq("Aachen", "Bonn", "Köln")

  private def rows(count: Int): Seq[Group => Unit] = (0 until count).map { i => (row: Group) =>
    row.append("id", i * 3L)
    if (i % 5 > 0) row.append("city", cities(i % 3))
    if (i % 2 == 0) {
      val home = row.addGroup("home")
      if (i % 4 == 0) home.append("number", i % 10)
    }
    row.append("many", i)
    row.append("share", i / 7.0)
    ()
  }

  private lazy val small: Path =
    write(schema, rows(Rows))(_.withCompressionCodec(CompressionCodecName.SNAPPY))
  // Several row groups, and several pages in each.
  private lazy val large: Path =
    write(schema, rows(Rows))(_.withRowGroupSize(40L * 1024).withPageSize(2048).withDictionaryEncoding(false))

  private def long(value: Long) =
    ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array.toSeq

  private def texts(found: Option[ColumnSummary]) = found.map {
    case ColumnSummary.ValueList(values, nulls) => values.map(new String(_, "UTF-8")).toSet -> nulls
    case other => fail(s"$other")
  }

  private def holds(bits: Array[Byte], value: Any) = {
    val filter = new BlockSplitBloomFilter(bits)
    filter.findHash(filter.hash(value))
  }

  test("a range, a list of values and a Bloom filter hold what the column holds, in one row group or many") {
    Seq(small, large).foreach { path =>
      summary(path, "id", SummaryKind.MinMax) match {
        case Some(ColumnSummary.Range(Some((min, max)), 0)) =>
          assertEquals((min.toSeq, max.toSeq), (long(0), long((Rows - 1) * 3L)))
        case other => fail(s"$other")
      }
      assertEquals(texts(summary(path, "city", list)), Some(cities.toSet -> Rows / 5L))
      summary(path, "id", bloom) match {
        case Some(ColumnSummary.Bloom(bits, 0)) =>
          assert((0 until Rows).forall(i => holds(bits, i * 3L)))
          assert((0 until Rows).count(i => holds(bits, i * 3L + 1)) < Rows * 2 / 100)
        case other => fail(s"$other")
      }
      summary(path, "home.number", list) match {
        case Some(ColumnSummary.ValueList(values, nulls)) =>
          assertEquals(values.map(_.head).toSet, Set[Byte](0, 2, 4, 6, 8))
          assertEquals(nulls, Rows * 3L / 4)
        case other => fail(s"$other")
      }
    }
  }

  test("results are in the order of what is wanted; a column that the file lacks, or repeats, has none") {
    val found = look(small, "city" -> list, "none" -> list, "many" -> bloom, "id" -> SummaryKind.MinMax).found
    assertEquals(found.map(_.isDefined), List(true, false, false, true))
    assertEquals(found.flatten.map(_.columnType), List("optional binary city (STRING)", "optional int64 id"))
    assertEquals(
      look(write(schema, Nil)(identity(_)), "city" -> list, "id" -> SummaryKind.MinMax).found,
      List(None, None)
    )
  }

  test("all kinds of a column are made of one decryption, and a range of none") {
    val alone = look(large, "id" -> list.copy(max = 1000000)).counters.modules.sum
    val together =
      look(
        large,
        "id" -> list.copy(max = 1000000),
        "id" -> bloom,
        "id" -> byClass("LeastLong")
      ).counters.modules.sum
    assert(alone > 20, s"$alone")
    assertEquals(together, alone)
    assertEquals(look(large, "id" -> SummaryKind.MinMax).counters.modules.sum, 0L)
    // A list that is full reads no more pages.
    assert(look(large, "id" -> list).counters.modules.sum < alone / 2)
  }

  test("a range bounds long texts by their beginnings, and counts nulls where nothing bounds the values") {
    def ofTexts(values: String*) = summary(
      write(
        "required binary t (STRING);",
        values.map { value => (row: Group) => row.append("t", value); () }
      )(identity(_)),
      "t",
      SummaryKind.MinMax
    ).collect { case ColumnSummary.Range(bounds, nulls) =>
      bounds.map { case (min, max) => new String(min, ISO_8859_1) -> new String(max, ISO_8859_1) } -> nulls
    }
    assertEquals(ofTexts("a", "x" * 1025), Some(Some("a" -> ("x" * 1023 + "y")) -> 0L))
    assertEquals(ofTexts("x" * 1025, "z"), Some(Some("x" * 1024 -> "z") -> 0L))
    // parquet-java writes no bounds of such a length, and in older versions no statistics.
    assert(ofTexts("a", "x" * 5000).forall(_ == (None -> 0L)))
  }

  test("a list has at most so many values, none over 1 KiB, and no more than 64 KiB") {
    assertEquals(texts(summary(small, "city", SummaryKind.ValueList(3))).map(_._1), Some(cities.toSet))
    assertEquals(summary(small, "city", SummaryKind.ValueList(2)), None)
    def ofTexts(lengths: Int*) = summary(
      write(
        "required binary t (STRING);",
        lengths.zipWithIndex.map { case (length, i) =>
          (row: Group) => { row.append("t", f"$i%04d" + "x" * (length - 4)); () }
        }
      )(identity(_)),
      "t",
      SummaryKind.ValueList(1000)
    ).isDefined
    assert(ofTexts(1024))
    assert(!ofTexts(1025))
    assert(ofTexts(Seq.fill(64)(1024): _*))
    assert(!ofTexts(Seq.fill(65)(1024): _*))
  }

  test("a column with NaN has no bounds, no list and no Bloom filter") {
    def ofDoubles(values: Double*) = {
      val path =
        write("required double v;", values.map { value => (row: Group) => row.append("v", value); () })(
          identity(_)
        )
      Seq(SummaryKind.MinMax, list, bloom).map(summary(path, "v", _)).map {
        case Some(ColumnSummary.Range(bounds, nulls)) =>
          assertEquals(nulls, 0L)
          bounds.isDefined
        case other => other.isDefined
      }
    }
    assertEquals(ofDoubles(1, 2), Seq(true, true, true))
    assertEquals(ofDoubles(1, Double.NaN), Seq(false, false, false))
  }

  test("bounds of floats are only taken of writers that have none if there is NaN") {
    val (double, int) = (ColumnKind("double v", Nil).leaf("v"), ColumnKind("int32 v", Nil).leaf("v"))
    val arrow = "parquet-cpp-arrow version 14.0.2"
    val known =
      Seq("parquet-mr version 1.13.1 (build abc)", "parquet-mr version 1.17.1", "parquet-mr version 1.10.0")
    val others = Seq(
      arrow,
      "parquet-mr version 1.8.3 (build abc)",
      "parquet-mr version 1.9.1",
      "parquet-mr version 1.18.0 (build abc)",
      "parquet-mr version 2.0.0",
      "parquet-mr",
      "",
      null
    )
    known.foreach(writer => assert(ChunkRange.boundsNaN(double, writer), writer))
    others.foreach(writer => assert(!ChunkRange.boundsNaN(double, writer), writer))
    (known ++ others).foreach(writer => assert(ChunkRange.boundsNaN(int, writer), writer))
  }

  test("INT96 and old calendars have no summary; a boolean has no Bloom filter") {
    val other = write(
      "required int96 v; required int32 d (DATE); required boolean b; required int32 i;",
      Seq { row =>
        row.append("v", Binary.fromConstantByteArray(new Array(12)))
        row.append("d", 1)
        row.append("b", true)
        row.append("i", 1)
        ()
      }
    )(_.withExtraMetaData(java.util.Collections.singletonMap("org.apache.spark.legacyDateTime", "")))
    val all = Seq(SummaryKind.MinMax, list, bloom)
    def found(column: String) = all.map(summary(other, column, _).isDefined)
    assertEquals(found("v"), Seq(false, false, false))
    assertEquals(found("d"), Seq(false, false, false))
    assertEquals(found("b"), Seq(true, true, false))
    assertEquals(found("i"), Seq(true, true, true))
  }

  test("the file's own Bloom filters are folded and joined, and no page is read") {
    val own = write(schema, rows(Rows))(
      _.withRowGroupSize(40L * 1024)
        .withPageSize(2048)
        .withDictionaryEncoding(false)
        .withBloomFilterEnabled("id", true)
    )
    val looked = look(own, "id" -> bloom)
    val bits = looked.found.head.map(_.summary) match {
      case Some(ColumnSummary.Bloom(found, 0)) => found
      case other => fail(s"$other")
    }
    assert(bits.length <= 16 * 1024, s"${bits.length}")
    assert((0 until Rows).forall(i => holds(bits, i * 3L)))
    assert((0 until Rows).count(i => holds(bits, i * 3L + 1)) < Rows * 2 / 100)
    val pages = look(own, "id" -> SummaryKind.Bloom(0.01, Some(5000))).counters.modules.sum
    // A header and the bits for each row group.
    assert(looked.counters.modules.sum * 3 < pages, s"${looked.counters.modules.sum} of $pages")
    // Together, small filters let through more than is wanted.
    val poor = write(schema, rows(Rows))(
      _.withRowGroupSize(40L * 1024)
        .withPageSize(2048)
        .withDictionaryEncoding(false)
        .withBloomFilterNDV("id", 500)
        .withBloomFilterEnabled("id", true)
    )
    assert(look(poor, "id" -> bloom).counters.modules.sum >= pages)
  }

  test("a Bloom filter is as large as the values need, or as stated, and none says nothing") {
    def bytes(kind: SummaryKind) = summary(small, "id", kind).collect { case ColumnSummary.Bloom(bits, _) =>
      bits.length
    }
    assertEquals(bytes(bloom), Some(SplitBlocks.bytesFor(Rows.toLong, 0.01)))
    assertEquals(bytes(SummaryKind.Bloom(0.01, Some(100000))), Some(SplitBlocks.bytesFor(100000, 0.01)))
    assertEquals(bytes(SummaryKind.Bloom(0.01, Some(10))), None)
  }

  test("a class of the user's sees all values but nulls, and makes the summary") {
    def content(column: String, kind: SummaryKind) = summary(small, column, kind).map {
      case ColumnSummary.OfClass(made) => new String(made, "UTF-8")
      case other => fail(s"$other")
    }
    assertEquals(content("id", byClass("LeastLong")), Some("0"))
    assertEquals(
      content("city", byClass("CountTexts", "of" -> "Bonn")),
      Some((0 until Rows).count(i => i % 5 > 0 && i % 3 == 1).toString)
    )
    assertEquals(content("city", byClass("CountTexts", "of" -> "Paris")), None)
    // Each of two classes of a column sees all.
    val both = look(
      small,
      "city" -> byClass("CountTexts", "of" -> "Bonn"),
      "city" -> byClass("CountTexts", "of" -> "Köln"),
      "city" -> list
    )
    assertEquals(both.found.map(_.isDefined), List(true, true, true))
  }

  private def failure(kind: SummaryKind, path: Path = small, column: String = "city") =
    intercept[PmeException](summary(path, column, kind))

  test("a class that fails, or is none, or makes too much, ends the seal") {
    Seq(
      byClass("Missing") -> "ClassNotFoundException",
      byClass("FileSummariesSuite") -> "does not implement",
      byClass("NoConstructor", "text" -> "x") -> "NoSuchMethodException",
      byClass("CountTexts", "other" -> "x") -> "its settings",
      byClass("LeastLong", "any" -> "x") -> "takes no settings",
      byClass("LeastLong") -> "ClassCastException",
      byClass("TooMuch") -> "131073 bytes"
    ).foreach { case (kind, words) =>
      val failed = failure(kind)
      assertEquals(failed.getCondition(), "PME_BAD_OPTION")
      assert(failed.getMessage.contains(words), failed.getMessage)
      assert(failed.getMessage.contains(kind.className))
    }
  }

  test("a damaged page ends the seal, whatever a class makes of the failure") {
    val path = write(
      "required binary t (STRING);",
      (0 until 1000).map { i => (row: Group) =>
        row.append("t", s"text $i")
        ()
      }
    )(_.withDictionaryEncoding(false))
    val local = java.nio.file.Paths.get(path.toUri)
    val bytes = java.nio.file.Files.readAllBytes(local)
    bytes(bytes.length / 4) = (bytes(bytes.length / 4) ^ 1).toByte
    java.nio.file.Files.delete(local.resolveSibling(".f.parquet.crc"))
    java.nio.file.Files.write(local, bytes)
    Seq(list.copy(max = 1000), bloom, byClass("SwallowsFailures")).foreach { kind =>
      val failed = failure(kind, path, "t")
      assert(Set("PME_NOT_AUTHENTIC", "PME_DAMAGED_FILE")(failed.getCondition()), failed.getMessage)
    }
  }

  test("a kind's name and parameters are parsed as they are written, and others are refused") {
    Seq(
      SummaryKind.MinMax,
      list,
      bloom,
      SummaryKind.Bloom(0.0001, Some(7)),
      byClass("LeastLong", "b" -> "2", "a" -> "1")
    )
      .foreach(kind => assertEquals(SummaryKind.parse(kind.name, kind.parameters), kind))
    assertEquals(SummaryKind.parse("valueList", Nil), list)
    assertEquals(SummaryKind.parse("bloom", Nil), bloom)
    Seq(
      "minmax" -> Nil,
      "minMax" -> Seq("max" -> "1"),
      "valueList" -> Seq("max" -> "0"),
      "valueList" -> Seq("max" -> "1001"),
      "valueList" -> Seq("max" -> "x"),
      "valueList" -> Seq("max" -> "1", "max" -> "2"),
      "bloom" -> Seq("fpp" -> "0"),
      "bloom" -> Seq("fpp" -> "0.51"),
      "bloom" -> Seq("fpp" -> "NaN"),
      "bloom" -> Seq("ndv" -> "0"),
      "bloom" -> Seq("fp" -> "0.1"),
      "class" -> Nil,
      "class" -> Seq("class" -> "")
    ).foreach { case (name, parameters) =>
      val failed = intercept[PmeException](SummaryKind.parse(name, parameters))
      assertEquals(failed.getCondition(), "PME_BAD_OPTION", s"$name $parameters")
    }
  }
}
