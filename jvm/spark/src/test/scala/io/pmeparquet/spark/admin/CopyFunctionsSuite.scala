package io.pmeparquet.spark.admin

import java.nio.file.{Files, Path}

import org.apache.spark.sql.Row

import io.pmeparquet.Condition.{BadOption, PlaintextFile, UnknownOption}

/** Copies, encryption in place and recovery as table functions: what Python does, for a statement. */
class CopyFunctionsSuite extends PlainTableSuite {
  private def literal(map: Map[String, String]): String =
    map.toSeq.map { case (name, value) => s"'$name', '$value'" }.mkString("map(", ", ", ")")

  private def row(function: String, path: Any, arguments: (String, String)*): Row = {
    val more = arguments.map { case (name, value) => s", $name => $value" }.mkString
    val found = spark.sql(s"SELECT * FROM $function('$path'$more)").collect()
    assertEquals(found.length, 1)
    found.head
  }

  private def counts(row: Row): (Long, Long) = (row.getAs[Long]("files"), row.getAs[Long]("rows"))
  private def place(name: String): String = s"$directory/$name"
  private def text(name: String): String = s"'${place(name)}'"
  private val enc = "options" -> literal(watched ++ ofPii)
  private val open = "options" -> literal(watched)

  test("a table is encrypted, given new keys and decrypted by statements") {
    val table = plain()
    assertEquals(counts(row("pme_encrypt", table, "target" -> text("first"), enc)), (2L, 40L))
    assertEquals(read(place("first")), rows(halves))
    val uniform = "options" -> literal(watched + ("uniformKey" -> "new"))
    assertEquals(counts(row("pme_rekey", place("first"), "target" -> text("second"), uniform)), (2L, 40L))
    WatchedKms.lacks = Set("footer", "pii")
    assertEquals(read(place("second")), rows(halves))
    val confirmed = "write_plaintext" -> "true"
    assertEquals(
      counts(row("pme_decrypt", place("second"), "target" -> text("back"), open, confirmed)),
      (2L, 40L)
    )
    assertEquals(rows(spark.read.parquet(place("back"))), rows(spark.read.parquet(table.toString)))
  }

  test("a statement that does not confirm it writes no plaintext") {
    write(people, watched + ("uniformKey" -> "old"), place("source"))
    for (more <- Seq(Nil, Seq("write_plaintext" -> "false")))
      refused(BadOption, "write_plaintext => true") {
        row("pme_decrypt", place("source"), Seq("target" -> text("open"), open) ++ more: _*)
      }
    assertEquals(names(), Seq("source"))
  }

  test("encryption in place is one statement, which a second one finds done") {
    val table = plain()
    val inPlace = "in_place" -> "true"
    val first = row("pme_encrypt", table, enc, inPlace)
    assertEquals((counts(first), first.getAs[Long]("already")), ((2L, 40L), 0L))
    val second = row("pme_encrypt", table, enc, inPlace)
    assertEquals((counts(second), second.getAs[Long]("already")), ((0L, 0L), 2L))
    assertEquals(read(table), rows(halves))
  }

  test("a statement whose files are not all encrypted fails, and names them") {
    val table = plain()
    val broken = files("plain").head
    Files.write(broken, "no Parquet file".getBytes("UTF-8"))
    val failed = intercept[Exception](row("pme_encrypt", table, enc, "in_place" -> "true"))
    val text = Iterator.iterate[Throwable](failed)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString
    assert(text.contains("1 of 2 files failed and are unchanged"), text)
    assert(text.contains(broken.getFileName.toString), text)
  }

  test("the source of a copy can have its own keys and options") {
    write(
      people,
      watched ++ Map("uniformKey" -> "old", "aadPrefix" -> "people", "storeAadPrefix" -> "false"),
      place("source")
    )
    val uniform = "options" -> literal(watched + ("uniformKey" -> "new"))
    val own = "source_options" -> literal(Map("aadPrefix" -> "people"))
    assertEquals(counts(row("pme_rekey", place("source"), "target" -> text("copy"), uniform, own)), (1L, 40L))
    assertEquals(rows(load(place("copy"))), rows(people))
  }

  test("plaintext is refused where encrypted files are expected") {
    refused(PlaintextFile)(row("pme_rekey", plain(), "target" -> text("copy"), enc))
  }

  test("what came back of a damaged table, and what did not, is in one row") {
    write(people.repartition(2), watched + ("uniformKey" -> "k"), place("source"))
    val damaged = files("source").head
    val content = Files.readAllBytes(damaged)
    content(20) = (content(20) ^ 1).toByte
    Files.write(damaged, content)
    Files.deleteIfExists(damaged.resolveSibling(s".${damaged.getFileName}.crc"))
    val uniform = "options" -> literal(watched + ("uniformKey" -> "k"))
    val found = row(
      "pme_recover",
      place("source"),
      "target" -> text("sound"),
      "lost" -> "'rows'",
      uniform,
      "seal" -> "true"
    )
    assertEquals(counts(found)._1, 1L)
    val lost = found.getSeq[Row](found.fieldIndex("lost"))
    assert(
      lost.nonEmpty && lost.forall(_.getAs[String]("file").endsWith(damaged.getFileName.toString)),
      lost.toString
    )
    assertEquals((found.getAs[Long]("sealed_version"), found.getAs[String]("not_sealed")), (1L, null))
    assertEquals(load(place("sound")).count(), counts(found)._2)
  }

  test("explaining copies nothing, and wrong arguments fail before anything is written") {
    val table: Path = plain()
    val call = s"pme_encrypt('$table', target => ${text("copy")}, options => ${literal(watched ++ ofPii)})"
    assert(spark.sql(s"EXPLAIN EXTENDED SELECT * FROM $call").head().getString(0).contains("pme_encrypt"))
    val wrong = Seq(
      s"pme_encrypt('$table')" -> BadOption,
      s"pme_encrypt('$table', target => ${text("copy")}, in_place => true)" -> BadOption,
      s"pme_rekey('$table')" -> BadOption,
      s"pme_recover('$table', target => ${text("copy")})" -> BadOption,
      s"pme_recover('$table', target => ${text("copy")}, lost => 'rows', signing => 'key')" -> BadOption,
      s"pme_encrypt('$table', to => ${text("copy")})" -> UnknownOption,
      s"pme_rekey('$table', target => ${text("copy")}, source_options => map('aadPrefx', 'x'))" -> UnknownOption
    )
    for ((one, condition) <- wrong) refused(condition)(spark.sql(s"SELECT * FROM $one"))
    assertEquals(names(), Seq("plain"))
  }
}
