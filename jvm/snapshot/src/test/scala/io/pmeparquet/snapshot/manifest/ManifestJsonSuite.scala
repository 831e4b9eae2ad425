package io.pmeparquet.snapshot.manifest

import java.nio.charset.StandardCharsets.UTF_8

import munit.FunSuite

import io.pmeparquet.parquet.summary.SummaryKind
import io.pmeparquet.PmeException

class ManifestJsonSuite extends FunSuite {
  private val part = "part-01234567-89ab-cdef-0123-456789abcdef.parquet"
  private val manifest = Manifest(
    2,
    Some("ab" * 32),
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "/warehouse/people of “Zürich”",
    "2026-11-24T01:02:03Z",
    "alice",
    "pme-parquet 0.1.0",
    TablePolicy(
      Some("footer"),
      Seq(Seq("address", "zip.code") -> Some("pii"), Seq("n") -> Some("footer"), Seq("city") -> None)
    ),
    Seq("day"),
    12,
    Long.MaxValue,
    123456,
    Seq(
      PartEntry(
        FileEntry(part, 4711, "cd" * 32),
        12,
        "day=1/a.parquet",
        "day=2/b.parquet",
        Seq("index_0" -> FileEntry(part.replace("part-", "index-"), 815, "ef" * 32))
      )
    ),
    Seq(
      IndexEntry(
        SummaryKind.Bloom(0.01, Some(1000)),
        Seq("address", "zip.code"),
        "index_0",
        "optional binary zip (STRING)",
        Some("stats")
      )
    )
  )
  private val line = SealLine("HMAC-SHA256", "footer", Some("wrapped"), Array[Byte](1, 2, 3))
  private val content = text(ManifestJson.content(manifest))
  private val file = ManifestJson.file(ManifestJson.content(manifest), line)

  private def text(bytes: Array[Byte]) = new String(bytes, UTF_8)

  private def parsed(content: String) = ManifestJson.manifest(content.getBytes(UTF_8), "m")

  /** Reads a whole file, as a reader does whose keys verify every seal. */
  private def read(file: Array[Byte]): Manifest = ManifestJson.manifest(ManifestJson.lines(file, "m")._1, "m")

  private def damaged(step: => Any, words: String*): Unit = {
    val failed = intercept[PmeException](step)
    assertEquals(failed.getCondition(), "PME_SNAPSHOT_DAMAGED", failed.getMessage)
    ("m: " +: words).foreach(word => assert(failed.getMessage.contains(word), failed.getMessage))
  }

  /** The content with a piece replaced, which must be there. */
  private def changed(piece: String, by: String): String = {
    assert(content.contains(piece), s"$piece is not in $content")
    content.replace(piece, by)
  }

  test("a manifest is read as it was written") {
    assertEquals(read(file), manifest)
    val (_, seal) = ManifestJson.lines(file, "m")
    assertEquals(seal.copy(value = line.value), line)
    assertEquals(seal.value.toSeq, line.value.toSeq)
  }

  test("a first version of an empty plaintext table is read as it was written") {
    val least = manifest.copy(
      version = 1,
      previous = None,
      policy = TablePolicy(None, Nil),
      files = 0,
      parts = Nil,
      indexes = Nil
    )
    assertEquals(parsed(text(ManifestJson.content(least))), least)
  }

  test("a seal without a wrapped key is read as it was written") {
    val signature = line.copy(algorithm = "Ed25519", wrappedKey = None)
    val (_, seal) = ManifestJson.lines(ManifestJson.file(content.getBytes(UTF_8), signature), "m")
    assertEquals(seal.wrappedKey, None)
  }

  test("the content is the bytes of the first line, whatever they are") {
    val spaced = content.replace(",", " ,\t").getBytes(UTF_8)
    assertEquals(ManifestJson.lines(ManifestJson.file(spaced, line), "m")._1.toSeq, spaced.toSeq)
  }

  test("a file cut at any place is damaged")(
    file.indices.foreach(length => damaged(read(file.take(length))))
  )

  test("anything after the second line is damaged") {
    Seq("\n", " ", "x", "{}\n", "\u0000").foreach(more =>
      damaged(read(file ++ more.getBytes(UTF_8)), "two whole lines")
    )
    damaged(read("\n".getBytes ++ file), "two whole lines")
  }

  Seq("{}", "[]", " ", "\u0000", "x").foreach { more =>
    test(
      s"a line with '${more.replace('\u0000', '0')}' after its object is damaged unless it is white space"
    ) {
      if (more == " ") assertEquals(parsed(content + more), manifest)
      else damaged(parsed(content + more))
      val second = file.dropRight(1) ++ s"$more\n".getBytes(UTF_8)
      if (more == " ") assertEquals(read(second), manifest) else damaged(read(second))
    }
  }

  test("a line that is no JSON object is damaged")(
    Seq("", "null", "1", "\"text\"", "[]", "{", "{]", "\u0000").foreach(other => damaged(parsed(other)))
  )

  test("an unknown field is refused at every level, and named") {
    val more = "\"news\":1,"
    Seq("{\"format\"", "{\"footerKey\"", "{\"column\":[\"n\"]", "{\"name\"", "{\"kind\"").foreach { start =>
      damaged(parsed(changed(start, s"{$more${start.drop(1)}")), "'news'")
    }
    val seal = text(file).replace("{\"algorithm\"", "{" + more + "\"algorithm\"")
    damaged(read(seal.getBytes(UTF_8)), "'news'")
  }

  test("a name that occurs twice is refused, with equal values too") {
    Seq(
      "\"version\":2,",
      "\"footerKey\":\"footer\",",
      "\"length\":4711,",
      "\"field\":\"index_0\","
    ).foreach(pair => damaged(parsed(changed(pair, pair + pair))))
    val seal =
      text(file).replace("\"key\":\"footer\",\"wrapped", "\"key\":\"footer\",\"key\":\"footer\",\"wrapped")
    damaged(read(seal.getBytes(UTF_8)))
  }

  test("every field of every object must be there") {
    // A Bloom filter's `ndv` is optional.
    val all = "\"[a-zA-Z0-9]+\":(\"[^\"]*\"|[0-9]+|null)".r.findAllIn(content).toList.distinct
    val pieces = all.filterNot(piece => piece.startsWith("\"ndv") || piece.startsWith("\"fpp"))
    assert(pieces.size > 15, pieces)
    pieces.foreach { piece =>
      val without = content.replace(s"$piece,", "").replace(s",$piece", "")
      damaged(parsed(without), s"'${piece.drop(1).takeWhile(_ != '"')}'")
    }
  }

  test("values of another type are refused, with the name of the field") {
    def bad(piece: String, by: String, name: String): Unit = damaged(parsed(changed(piece, by)), s"'$name'")
    bad("\"version\":2", "\"version\":\"2\"", "version")
    bad("\"version\":2", "\"version\":null", "version")
    bad("\"version\":2", "\"version\":2.0", "version")
    bad("\"version\":2", "\"version\":2e0", "version")
    bad("\"version\":2", "\"version\":true", "version")
    bad("\"creator\":\"alice\"", "\"creator\":null", "creator")
    bad("\"creator\":\"alice\"", "\"creator\":[\"alice\"]", "creator")
    bad("\"footerKey\":\"footer\"", "\"footerKey\":1", "footerKey")
    bad("\"key\":null", "\"key\":false", "key")
    bad("[\"day\"]", "[\"day\",null]", "partitionColumns")
    bad("[\"day\"]", "\"day\"", "partitionColumns")
    bad("[\"day\"]", "{\"0\":\"day\"}", "partitionColumns")
    bad("\"parts\":[", "\"parts\":[1,", "parts")
    bad("\"column\":[\"n\"]", "\"column\":[1]", "column")
    bad("\"column\":[\"n\"]", "\"column\":\"n\"", "column")
  }

  test("numbers are whole, from 0 to the largest of 64 bits") {
    Seq(
      "-1",
      "-0.5",
      "9223372036854775808",
      "-9223372036854775809",
      "1" + "0" * 30,
      "9" * 5000,
      "1e400000000",
      "NaN"
    )
      .foreach(number => damaged(parsed(changed("\"bytes\":123456", "\"bytes\":" + number))))
    assertEquals(parsed(changed("\"bytes\":123456", "\"bytes\":0")).bytes, 0L)
    assertEquals(parsed(changed("\"bytes\":123456", "\"bytes\":9223372036854775807")).bytes, Long.MaxValue)
  }

  test("deep nesting is damaged, in both lines") {
    Seq(1100, 1000000).foreach { depth =>
      val deep = "[" * depth + "]" * depth
      damaged(parsed(changed("[\"day\"]", deep)))
      damaged(parsed(deep))
      damaged(read(s"$content\n${"{\"a\":" * depth}1${"}" * depth}\n".getBytes(UTF_8)))
      damaged(read(s"$content\n${"[" * depth}\n".getBytes(UTF_8)))
    }
  }

  test("bytes that are not UTF-8 are damaged") {
    val bytes = content.getBytes(UTF_8)
    bytes(bytes.indexOfSlice("alice".getBytes)) = 0xff.toByte
    damaged(ManifestJson.manifest(bytes, "m"))
  }

  test("a part's name that could lead elsewhere is refused") {
    Seq(
      "../x.parquet",
      "/etc/passwd",
      s"a/$part",
      s"../$part",
      s"$part/",
      s"$part ",
      "",
      ".",
      "..",
      part.toUpperCase,
      part.dropRight(1),
      s"$part\\n",
      s"file:/$part",
      part.replace("part", "snapshot")
    ).foreach { name =>
      damaged(parsed(changed(part, name)), "a name that it cannot have")
      val ofIndex = part.replace("part-", "index-")
      damaged(parsed(changed(ofIndex, name.replace("part-", "index-"))), "a name that it cannot have")
    }
    damaged(parsed(changed(part, part.replace("part-", "index-"))), "a name that it cannot have")
  }

  test("an index has a field of its own, a known kind, and a file in each part") {
    val index = content.substring(content.indexOf("{\"kind\""), content.lastIndexOf("]}"))
    damaged(parsed(changed(index, s"$index,$index")), "two indexes have the same field")
    Seq("index_", "index_12345", "index_x", "path", "index_0 ", "INDEX_0").foreach { field =>
      damaged(parsed(changed("index_0", field)), "a field that no index has")
    }
    Seq("bloom2", "", "MINMAX", "minMax").foreach { kind =>
      damaged(parsed(changed("\"kind\":\"bloom\"", "\"kind\":\"" + kind + "\"")), s"kind '$kind'")
    }
    Seq("0.01" -> "2", "0.01" -> "x", "\"fpp\"" -> "\"other\"", "\"1000\"" -> "\"0\"").foreach {
      case (piece, by) =>
        damaged(parsed(changed(piece, by)), "kind 'bloom'")
    }
    val second = index.replace("index_0", "index_1")
    damaged(parsed(changed(index, s"$index,$second")), "one file for each index")
    damaged(parsed(changed(index, "")), "one file for each index")
  }

  test("the parts must list as many files as the manifest states")(
    damaged(parsed(changed("\"files\":12,\"rows\"", "\"files\":13,\"rows\"")), "as many files")
  )

  test("another format is damaged, and another version of this one unsupported") {
    damaged(parsed(changed("pme-parquet snapshot", "other snapshot")))
    val failed = intercept[PmeException](parsed(changed("\"formatVersion\":1", "\"formatVersion\":5")))
    assertEquals(failed.getCondition(), "PME_UNSUPPORTED")
    assert(failed.getMessage.contains("format version 5"), failed.getMessage)
  }

  test("version 2 is of ORC files, and says so") {
    val version2 = "\"formatVersion\":2,\"fileFormat\":\"orc\""
    val found = parsed(changed("\"formatVersion\":1", version2))
    assertEquals(found.format, DataFormat.Orc)
    assertEquals(text(ManifestJson.content(found)), changed("\"formatVersion\":1", version2))
    damaged(parsed(changed("\"formatVersion\":1", "\"formatVersion\":2")), "fileFormat")
    damaged(parsed(changed("\"formatVersion\":1", version2.replace("orc", "parquet"))), "a format that")
    damaged(
      parsed(changed("\"formatVersion\":1", version2.replace("2", "1"))),
      "'fileFormat' that is not known"
    )
  }

  test("version 3 has the last number of each series of writes, and says which files there are") {
    def withWrites(format: String, writes: String) =
      changed("\"formatVersion\":1", s"\"formatVersion\":3,\"fileFormat\":\"$format\"").stripSuffix("}") +
        s",\"writes\":$writes}"
    for (format <- DataFormat.all) {
      val content = withWrites(format.field, "{\"a \\\"b\\\"\":0,\"daily\":9223372036854775807}")
      val found = parsed(content)
      assertEquals(found.format, format)
      assertEquals(found.writes, Map("a \"b\"" -> 0L, "daily" -> Long.MaxValue))
      assertEquals(text(ManifestJson.content(found)), content)
      // The oldest version that can say it.
      assertEquals(text(ManifestJson.content(found.copy(writes = Map.empty))).contains("writes"), false)
    }
    for (wrong <- Seq("{}", "[]", "{\"a\":-1}", "{\"a\":\"1\"}", "{\"a\":1.5}", "{\"a\":1,\"a\":1}", "null"))
      damaged(parsed(withWrites("parquet", wrong)))
    damaged(parsed(withWrites("avro", "{\"a\":1}")), "a format that")
    damaged(parsed(withWrites("parquet", "{\"a\":1}").replace("\"formatVersion\":3", "\"formatVersion\":2")))
    damaged(parsed(changed("\"formatVersion\":1", "\"formatVersion\":3,\"fileFormat\":\"orc\"")), "writes")
  }

  /** The content in version 4, with keys by partition or not. */
  private def version4(byPartition: String = "true", writes: String = "{}", erasures: String = "[]") =
    changed("\"formatVersion\":1", "\"formatVersion\":4,\"fileFormat\":\"parquet\"")
      .replace("\"policy\":{", s"\"policy\":{\"byPartition\":$byPartition,")
      .replace("\"key\":\"pii\"", "\"key\":\"pii-{day}\"")
      .stripSuffix("}") + s",\"writes\":$writes,\"erasures\":$erasures}"

  private val erasure =
    "{\"keys\":[\"t-acme\",\"t-bolt\"],\"erased\":\"2026-11-30T01:02:03Z\",\"certificate\":\"/t/erasure.json\"," +
      "\"sha256\":\"ab\"}"

  test("version 4 has keys by partition and erasures, and is written only if there are some") {
    val found = parsed(version4(erasures = s"[$erasure]"))
    assertEquals(found.policy.byPartition, true)
    assertEquals(
      found.erasures,
      Seq(ErasedKeys(Seq("t-acme", "t-bolt"), "2026-11-30T01:02:03Z", "/t/erasure.json", "ab"))
    )
    assertEquals(text(ManifestJson.content(found)), version4(erasures = s"[$erasure]"))
    assertEquals(text(ManifestJson.content(parsed(version4()))), version4())
    assertEquals(parsed(version4(writes = "{\"a\":1}")).writes, Map("a" -> 1L))
    val plain = found.copy(policy = found.policy.copy(byPartition = false), erasures = Nil)
    assert(text(ManifestJson.content(plain)).contains("\"formatVersion\":1,"))
    // A name with braces is only a name where keys are not by partition.
    val names = parsed(version4("false", erasures = s"[$erasure]")).policy
    assertEquals(names.isTemplate("pii-{day}"), false)
    assertEquals(parsed(content.replace("pii", "pii-{day")).policy.keys, Set("footer", "pii-{day"))
  }

  test("what a field of version 4 cannot be is damaged, and no earlier version has it") {
    for (wrong <- Seq("null", "1", "\"true\"", "[]"))
      damaged(parsed(version4(byPartition = wrong)), "byPartition")
    damaged(parsed(version4().replace("pii-{day}", "pii-{day")), "a key by partition")
    damaged(parsed(version4().replace("pii-{day}", "pii-{day}{x}")), "a key by partition")
    for (wrong <- Seq("{}", "null", "[1]", s"[$erasure,2]"))
      damaged(parsed(version4(erasures = wrong)), "erasures")
    for (field <- Seq("keys", "erased", "certificate", "sha256")) {
      damaged(parsed(version4(erasures = s"[${erasure.replace(field, "other")}]")), field)
      damaged(parsed(version4(erasures = s"[${erasure.replace("{", s"{\"$field\":null,")}]")))
    }
    damaged(
      parsed(version4(erasures = s"[${erasure.replace("[\"t-acme\",\"t-bolt\"]", "[]")}]")),
      "it names no key"
    )
    damaged(parsed(version4().replace("\"formatVersion\":4", "\"formatVersion\":3")))
    damaged(parsed(version4().replace(",\"erasures\":[]", "")), "erasures")
    damaged(parsed(version4().replace(",\"writes\":{}", "")), "writes")
    damaged(parsed(version4().replace("\"byPartition\":true,", "")), "byPartition")
    damaged(parsed(changed("\"policy\":{", "\"policy\":{\"byPartition\":true,")), "byPartition")
  }

  test("a seal's value must be base64, in the only form of its bytes") {
    def altered(value: String) = text(file).replace("AQID", value).getBytes(UTF_8)
    assertEquals(ManifestJson.lines(altered("AQI="), "m")._2.value.length, 2)
    Seq("*", "AQI", "AQJ=", "AQ=ID", "AQID\\n", " AQID").foreach(value =>
      damaged(read(altered(value)), "base64")
    )
  }

  test("a message never repeats what is in a manifest that cannot be parsed") {
    val failed = intercept[PmeException](parsed("{\"format\":\"secret text\" \"x\":1}"))
    val all = Iterator.iterate[Throwable](failed)(_.getCause).takeWhile(_ != null).map(_.toString).mkString
    assert(!all.contains("secret text"), all)
  }
}
