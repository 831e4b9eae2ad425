package io.pmeparquet.spark.admin

import java.nio.file.Files

import org.apache.spark.sql.Row

import io.pmeparquet.spark.AlteredFile.bytes
import io.pmeparquet.Condition.{AadPrefix, DamagedFile, KeyNotFound, PlaintextFile, Unsupported}

/** Which master keys protect what, what is lost with each, and what is readable in only some files. */
class KeyUsageSuite extends WatchedTableSuite {

  private class Use(row: Row) {
    def key: String = row.getAs[String]("master_key")
    def kind: String = row.getAs[String]("kind")
    def number(name: String): Long = row.getAs[Long](name)
    def texts(name: String): Seq[String] = row.getSeq[String](row.fieldIndex(name))
    def numbers(name: String): Seq[Int] = row.getSeq[Int](row.fieldIndex(name))
    def apply(name: String): Any = row.getAs[Any](name)
  }

  private def usage(options: Map[String, String] = watched, path: String = target): Seq[Use] =
    KeyUsage.of(spark, path, options).collect().map(new Use(_)).toSeq

  private def of(found: Seq[Use], key: String): Use = {
    val some = found.filter(_.key == key)
    assertEquals(some.size, 1)
    some.head
  }

  test("each master key is listed with what it protects") {
    written()
    val found = usage()
    assertEquals(
      found.map(use => use.key -> use.kind),
      Seq("footer" -> "footer", "pay" -> "column", "pii" -> "column")
    )
    for (use <- found) {
      assertEquals(Seq(use.number("files"), use.number("rows")), Seq(2L, 40L))
      assertEquals(Seq(use("wrapping"), use("material"), use("version")), Seq("double", "internal", null))
      assertEquals((use.numbers("data_key_bits"), use.numbers("kek_bits")), (Seq(128), Seq(128)))
      assertEquals(use.texts("problems"), Nil)
    }
    val (footer, pii) = (of(found, "footer"), of(found, "pii"))
    assertEquals(pii.texts("columns"), Seq("ssn"))
    assertEquals(pii.texts("unreadable_columns"), Seq("ssn"))
    assertEquals((pii.number("unreadable_files"), footer.number("unreadable_files")), (0L, 2L))
    assertEquals(footer.texts("unreadable_columns"), Seq("id", "salary", "ssn"))
    assertEquals(footer.texts("columns"), Seq("id"))
    val sizes = pages().values.map(_.size.toLong).sum
    assert(found.forall(_.number("bytes") > 0) && found.map(_.number("bytes")).sum < sizes)
  }

  test("no file needs the key of a readable footer") {
    written("plaintextFooter" -> "true", "unlistedColumns" -> "plaintext")
    val footer = of(usage(), "footer")
    assertEquals((footer.number("unreadable_files"), footer.texts("unreadable_columns")), (0L, Nil))
  }

  test("an AAD prefix that files do not store is an option") {
    written("aadPrefix" -> "orders", "storeAadPrefix" -> "false")
    val named = usage(watched + ("aadPrefix" -> "orders"))
    assertEquals(named.map(use => use.key -> use.texts("problems")), old.map(_ -> Nil))
    assertEquals(usage().map(_.texts("problems")).distinct, Seq(Seq(AadPrefix.name)))
  }

  test("after a rotation the new master keys are listed") {
    written()
    Rotation.reports(
      spark,
      target,
      watched,
      RotationSettings(masterKeys = Some(Map("pii" -> "pii-2")), keyMaterial = Some("external"))
    )
    val found = usage()
    assertEquals(found.map(_.key), Seq("footer", "pay", "pii-2"))
    assertEquals(found.map(_("material")).distinct, Seq[Any]("external"))
  }

  test("what a reader may not open is listed as far as possible") {
    written()
    WatchedKms.lacks = Set("pii")
    val pii = of(usage(), "pii")
    assertEquals(
      (pii("bytes"), pii.texts("problems"), pii.texts("columns")),
      (null: Any, Seq(KeyNotFound.name), Seq("ssn"))
    )
    val without = usage(Map.empty)
    assertEquals(without.map(use => use.key -> use.kind), Seq("footer" -> "footer"))
    assertEquals((without.head.number("unreadable_files"), without.head("rows")), (2L, null: Any))
  }

  test("plaintext and damaged files are listed") {
    written()
    people.select("id", "ssn").coalesce(1).write.parquet(s"$target/more")
    Files.write(directory.resolve("table/broken.parquet"), bytes("no Parquet file at all"))
    val found = usage()
    val plain = found.filter(_.kind == "plaintext")
    assertEquals(
      plain.map(use => (use.key, use.number("files"), use.texts("columns"))),
      Seq((null, 1L, Seq("id", "ssn")))
    )
    assertEquals(found.head.kind, "plaintext")
    assertEquals(found.filter(_.kind == "unknown").map(_.texts("problems")), Seq(Seq(DamagedFile.name)))
    assertEquals(of(found, "pii").texts("unreadable_in_some_files"), Seq("ssn"))
  }

  test("readable columns of files with direct keys are listed") {
    val direct = holding("long") + ("keyManagement" -> "direct")
    val mixed = Map("footerKey" -> "long", "columnKeys" -> "long: ssn", "unlistedColumns" -> "plaintext")
    write(people.coalesce(1), direct ++ mixed)
    val found = usage(direct)
    assertEquals((found.head.kind, found.head.texts("columns")), ("plaintext column", Seq("id", "salary")))
    assertEquals((found(1).key, found(1).texts("problems")), ("long", Seq(Unsupported.name)))
  }

  // ---- columns that only some files encrypt

  private val readable =
    Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn", "unlistedColumns" -> "plaintext")

  /** On the second day, `salary` and columns without a key are readable. */
  private def twoDays(): Unit = {
    write(
      people.coalesce(1),
      watched ++ Map("footerKey" -> "footer", "columnKeys" -> "pii: salary, ssn"),
      s"$target/day=1"
    )
    write(people.coalesce(1), watched ++ readable, s"$target/day=2")
  }

  private def verified(options: Map[String, String] = watched, path: String = target) =
    Verification.verify(spark, path, options)

  private def readableIn(table: VerifiedTable): Map[String, Long] = {
    val found = table.readable.columns
    found.keySet.toArray(Array.empty[String]).map(column => column -> found.get(column).longValue).toMap
  }

  test("verify finds columns that only some files have encrypted, and lists what is readable in all") {
    twoDays()
    val findings =
      Verification.findings(spark, target, watched, io.pmeparquet.parquet.verify.Sample(), allFiles = false)
    assertEquals(findings.flatMap(_.column).sorted, Seq("id", "salary"))
    assertEquals(findings.map(_.condition).distinct, Seq(PlaintextFile.name))
    val salary = findings.filter(_.column.contains("salary")).head
    assert(salary.file.endsWith(files("table/day=2").head.toString.split("table/").last), salary.file)
    assert(
      salary.message.contains("it is not encrypted in 1 file, but is encrypted in 1 file"),
      salary.message
    )
    assertEquals(io.pmeparquet.spark.Refusals.check(salary.message), None)
    assertEquals(readableIn(verified()), Map("id" -> 1L, "salary" -> 1L))
    val second = verified(path = s"$target/day=2")
    assertEquals(second.findings.count(), 0L)
    assertEquals(readableIn(second), Map("id" -> 1L, "salary" -> 1L))
  }

  test("key usage calls no column unreadable that some file has in plaintext") {
    twoDays()
    val found = usage()
    val plain = found.filter(_.kind == "plaintext column")
    assertEquals(
      plain.map(use => (use.key, use.number("files"), use.texts("columns"))),
      Seq((null, 1L, Seq("id", "salary")))
    )
    assert(found.head.kind == "plaintext column" && plain.head.number("bytes") > 0)
    val pii = of(found, "pii")
    assertEquals(pii.texts("unreadable_columns"), Seq("ssn"))
    assertEquals(pii.texts("unreadable_in_some_files"), Seq("salary"))
    val footer = of(found, "footer")
    assertEquals(footer.texts("unreadable_columns").filter(Set("id", "salary")), Nil)
  }

  /** On the second day, `SALARY` is readable, beside `salary` under `pii`. */
  private def spellings(): Unit = {
    val frame = people.select("id", "salary").coalesce(1)
    write(frame, watched ++ Map("footerKey" -> "footer", "columnKeys" -> "pii: salary"), s"$target/day=1")
    val other = frame.withColumnRenamed("salary", "SALARY")
    write(other, watched ++ readable + ("columnKeys" -> "pii: id"), s"$target/day=2")
  }

  test("letter case hides no readable column") {
    spellings()
    val found = verified()
    assertEquals(
      found.findings.select("column", "condition").collect().map(_.toString).toSeq,
      Seq(s"[salary,${PlaintextFile.name}]")
    )
    assertEquals(readableIn(found), Map("salary" -> 1L))
    val uses = usage()
    assertEquals((uses.head.kind, uses.head.texts("columns")), ("plaintext column", Seq("salary")))
    val pii = of(uses, "pii")
    assertEquals(pii.texts("unreadable_columns"), Seq("id"))
    assertEquals(pii.texts("unreadable_in_some_files"), Seq("salary"))
  }

  test("where case is sensitive, each spelling is a column") {
    spellings()
    set(Map("spark.sql.caseSensitive" -> "true"))
    val found = verified()
    assertEquals(found.findings.count(), 0L)
    assertEquals(readableIn(found), Map("SALARY" -> 1L))
    assertEquals(of(usage(), "pii").texts("unreadable_columns"), Seq("id", "salary"))
  }
}
