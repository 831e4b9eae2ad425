package io.pmeparquet.snapshot.xskipper

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.util.Base64

import org.apache.parquet.io.api.Binary

/** The objects are of Xskipper's own classes, as Java wrote them with Scala 2.11, 2.12 and 2.13. */
class SerializedSummarySuite extends StoreSuite {
  private def resource(name: String) = Paths.get(getClass.getResource(s"/xskipper/$name").toURI)

  /** The bytes of each object, by its kind and name, and the version of Scala. */
  private val objects: Map[(String, String, String), Array[Byte]] =
    new String(Files.readAllBytes(resource("objects.txt")), UTF_8)
      .split('\n')
      .toSeq
      .map { line =>
        val words = line.split(' ')
        (words(0), words(1), words(2)) -> Base64.getDecoder.decode(words(3))
      }
      .toMap

  private def kindOf(name: String) = if (name == "minmax") SerializedKind.MinMax else SerializedKind.ValueList

  private def said(kind: SerializedKind, bytes: Array[Byte]): Option[Any] =
    SerializedSummary.of(kind, bytes).map(shown)

  /** The filter of a number in a store that Xskipper wrote, as an object and as Spark's sketches have it. */
  private lazy val bloom: (Array[Byte], Array[Byte]) = {
    val store = Files.createTempDirectory("pme-bloom")
    Files.copy(resource("version-4/18.parquet"), store.resolve("part-0.parquet"))
    val filter =
      rowsOf(store)._1
        .flatMap(_.summaries.map(_._2))
        .collectFirst { case StoredSummary.Sketch(found) => found }
        .get
    SerializedSummary.ofSketch(filter) -> filter
  }

  test("an object of Xskipper's classes says what it was made of, with each version of Scala") {
    val expected: Map[(String, String), Option[Any]] = Map(
      ("minmax", "byte") -> Some(("-1", "2")),
      ("minmax", "short") -> Some(("-300", "300")),
      ("minmax", "integer") -> Some(("-70000", "70000")),
      ("minmax", "long") -> Some(("-5000000000", "5000000000")),
      ("minmax", "float") -> Some(("-1.5", "2.5")),
      ("minmax", "double") -> Some(("-1.25", "2.25")),
      ("minmax", "nan") -> Some(("-1.25", "Infinity")),
      ("minmax", "boolean") -> Some(("false", "true")),
      ("minmax", "string") -> Some(("a", "zü")),
      ("minmax", "same") -> Some(("same", "same")),
      ("minmax", "timestamp") -> Some(("2020-01-02T03:04:05.123456Z", "2021-06-07T08:09:10Z")),
      // Between calendars; of a day in somebody's time zone; without a precision; without bounds.
      ("minmax", "old") -> None,
      ("minmax", "date") -> None,
      ("minmax", "decimal") -> None,
      ("minmax", "nulls") -> None,
      ("minmax", "half") -> None,
      ("minmax", "mixed") -> None,
      ("minmax", "surrogate") -> None,
      ("minmax", "instant") -> None,
      ("minmax", "itself") -> None,
      ("valuelist", "integer") -> Some(Set("1", "2", "3")),
      ("valuelist", "string") -> Some(Set("", "x", "ü🐢\u0000")),
      ("valuelist", "timestamp") -> Some(Set("2020-01-02T03:04:05.123456Z", "2021-06-07T08:09:10Z")),
      ("valuelist", "many") -> Some((1 to 300).map("v" + _).toSet),
      ("valuelist", "empty") -> None,
      ("valuelist", "null") -> None,
      ("valuelist", "mixed") -> None,
      ("valuelist", "date") -> None,
      ("valuelist", "nothing") -> None,
      ("other", "set") -> None,
      ("other", "string") -> None,
      ("other", "list") -> None
    )
    assertEquals(objects.keySet.map { case (kind, name, _) => kind -> name }, expected.keySet)
    for (((kind, name, scala), bytes) <- objects)
      assertEquals(said(kindOf(kind), bytes), expected(kind -> name), s"$kind $name, Scala $scala")
  }

  table.test("a store of version 0 has objects in its columns, of types that Xskipper has named") { root =>
    val known = "com.ibm.metaindex.metadata.metadatastore.parquet.ParquetBaseClauseTranslator$"
    def column(field: String, kind: String, userType: String) =
      s"""{"name":"$field","type":{"type":"udt","class":"$userType","pyClass":null,"sqlType":"binary"},"nullable":true,""" +
        s""""metadata":{"index":{"cols":["${field.takeWhile(
            _ != '_'
          )}"],"name":"$kind","tableIdentifier":"t"}}}"""
    val text = MadeStores.json(
      """{"version":0}""",
      column("i_minmax", "minmax", s"${known}MinMaxMetaDataTypeUDT"),
      column("s_valuelist", "valuelist", s"${known}ValueListMetaDataTypeUDT"),
      column("x_minmax", "minmax", "com.evil.MinMaxMetaDataTypeUDT")
    )
    val columns =
      Seq("i_minmax", "s_valuelist", "x_minmax").map(name => s"optional binary $name;").mkString(" ")
    val bounds = Binary.fromConstantByteArray(objects(("minmax", "integer", "2.11")))
    val list = Binary.fromConstantByteArray(objects(("valuelist", "string", "2.11")))
    MadeStores.write(root, text, columns)(
      "/t/a#1" -> { row =>
        Seq("i_minmax" -> bounds, "s_valuelist" -> list, "x_minmax" -> bounds).foreach {
          case (field, value) =>
            row.add(field, value)
        }
      },
      "/t/b#1" -> (row => row.add("i_minmax", list))
    )
    val (rows, problems) = rowsOf(root)
    assertEquals(problems.size, 1)
    assert(problems.head.contains("its kind is not known"), problems)
    assertEquals(
      rows.map(shown),
      Seq(
        Seq[(String, Any)](
          "minmax i" -> (("-70000", "70000")),
          "valuelist s" -> Set("", "x", "ü🐢\u0000")
        ),
        Nil
      )
    )
  }

  test("an object of another kind than its index says nothing") {
    val bounds = objects(("minmax", "integer", "2.13"))
    val list = objects(("valuelist", "integer", "2.13"))
    assertEquals(said(SerializedKind.ValueList, bounds), None)
    assertEquals(said(SerializedKind.Bloom, bounds), None)
    assertEquals(said(SerializedKind.MinMax, list), None)
    assertEquals(said(SerializedKind.MinMax, bloom._1), None)
  }

  test("objects that are cut, or have anything behind them, say nothing") {
    for (((kind, _, _), bytes) <- objects) {
      assertEquals(said(kindOf(kind), bytes :+ 0.toByte), None)
      bytes.indices.foreach(at => assertEquals(said(kindOf(kind), bytes.take(at)), None))
    }
    val made = bloom._1
    assert(!made.indices.by(997).exists(at => said(SerializedKind.Bloom, made.take(at)).isDefined))
    assertEquals(said(SerializedKind.Bloom, made :+ 0.toByte), None)
    assertEquals(said(SerializedKind.Bloom, Array.fill(JavaObject.MostBytes + 1)(0.toByte)), None)
  }

  test("a bit that is changed anywhere ends in another value, or in none, and never in an error") {
    for ((((kind, name, _), bytes)) <- objects if name != "many"; at <- bytes.indices; bit <- 0 until 8) {
      val other = bytes.clone()
      other(at) = (other(at) ^ (1 << bit)).toByte
      said(kindOf(kind), other)
    }
  }

  test("a Bloom filter is exactly one of two classes with one filter in it") {
    val (made, filter) = bloom
    assert(found(made).exists(_.sameElements(filter)))
    // Both packages' classes differ in length, so the name is exchanged with its length before it.
    assert(
      found(renamed(made, "io.xskipper.index.metadata.", "com.ibm.metaindex.metadata.index.types.")).isDefined
    )
    assert(found(renamed(made, "io.xskipper.index.metadata.", "com.evil.")).isEmpty)
    val classes = made.length - filter.length - 5 * (filter.length / 1024 + 1) - 1
    val bent = (0 until classes).filter { at =>
      val other = made.clone()
      other(at) = (other(at) ^ 1).toByte
      found(other).isDefined
    }
    // Only the three numbers of the classes, of 8 bytes each, do not count.
    assertEquals(bent.size, 24)
  }

  test("a Bloom filter is written as Xskipper has written it") {
    val fixture = Files.readAllBytes(resource("library/bloom-integer"))
    val filter = found(fixture).get
    assertEquals(SerializedSummary.ofSketch(filter).toSeq, fixture.toSeq)
  }

  private def found(bytes: Array[Byte]): Option[Array[Byte]] =
    SerializedSummary.of(SerializedKind.Bloom, bytes).map {
      case StoredSummary.Sketch(filter) => filter
      case other => fail(s"$other")
    }

  private def renamed(bytes: Array[Byte], from: String, to: String): Array[Byte] =
    Seq("BloomFilterMetaData", "MetadataType").foldLeft(bytes) { (all, name) =>
      def written(text: String) = Array[Byte](0, text.length.toByte) ++ text.getBytes(UTF_8)
      val at = all.indexOfSlice(written(from + name).toSeq)
      all.take(at) ++ written(to + name) ++ all.drop(at + written(from + name).length)
    }
}
