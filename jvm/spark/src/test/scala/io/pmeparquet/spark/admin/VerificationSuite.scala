package io.pmeparquet.spark.admin

import java.nio.file.{Files, Path}

import io.pmeparquet.parquet.verify.{Finding, Opened, Sample}
import io.pmeparquet.spark.AlteredFile
import io.pmeparquet.spark.AlteredFile.TailBytes
import io.pmeparquet.spark.Refusals
import io.pmeparquet.Condition
import io.pmeparquet.Condition.{
  AadPrefix,
  Algorithm,
  BadOption,
  DamagedFile,
  KeyDenied,
  KeyMetadata,
  KeyNotFound
}
import io.pmeparquet.Condition.{NotAuthentic, PlaintextFile}

/** Problems of a table's files and keys are found file by file; what a sample leaves out is counted. */
class VerificationSuite extends WatchedTableSuite {

  /** What a finding is about, without its message. */
  private type Place = (String, Option[Int], Option[String], Option[Int], Option[String], String)

  private def place(finding: Finding): Place = (
    finding.file.split('/').last,
    finding.rowGroup,
    finding.column,
    finding.page,
    finding.module,
    finding.condition
  )

  private def inFooter(file: Path, condition: Condition): Place =
    (file.getFileName.toString, None, None, None, Some("footer"), condition.name)

  private def inPage(file: Path, column: String, page: Int, condition: Condition): Place =
    (file.getFileName.toString, Some(0), Some(column), Some(page), Some("data page"), condition.name)

  private def findings(more: (String, String)*): Seq[Finding] = findingsOf(target, Sample(), more.toMap)
  private def findingsOf(path: String, sample: Sample, more: Map[String, String] = Map.empty): Seq[Finding] =
    Verification.findings(spark, path, watched ++ more, sample, allFiles = false)
  private def found(more: (String, String)*): Seq[Place] = findings(more: _*).map(place)
  private def opened(more: (String, String)*): Opened =
    Verification.verify(spark, target, watched ++ more.toMap).opened

  /** Files of their own, each with one page for each column. */
  private def several(count: Int, more: (String, String)*): Seq[Path] = {
    write(people.repartition(count), watched ++ protection ++ more)
    files()
  }

  /** The first page of `ssn`. */
  private def damage(file: Path): Unit = AlteredFile.flipInModule(file, 1)
  private def cut(file: Path): Unit = AlteredFile.change(file)(_.dropRight(1))

  test("every problem of a table is found, with messages like those of errors") {
    val made = several(6)
    val (damaged, truncated, swapped, replaced) = (made(0), made(1), made(2), made(3))
    damage(damaged)
    cut(truncated)
    AlteredFile.flip(swapped, -5)
    people.coalesce(1).write.parquet(s"$target/plaintext")
    val plaintext = files("table/plaintext").head
    AlteredFile.replace(replaced, Files.readAllBytes(plaintext))
    val all = findings()
    assertEquals(
      all.map(place).toSet,
      Set(
        inPage(damaged, "ssn", 0, NotAuthentic),
        inFooter(truncated, DamagedFile),
        inFooter(swapped, DamagedFile),
        inFooter(replaced, PlaintextFile),
        inFooter(plaintext, PlaintextFile)
      )
    )
    assertEquals(all.size, 5)
    all.foreach(one => assertEquals(Refusals.check(one.message), None, one.message))
    assertEquals(opened().files, 7L)
    // The same as a function.
    val literal = (watched: Map[String, String])
      .map { case (name, value) => s"'$name', '$value'" }
      .mkString("map(", ", ", ")")
    val called = spark.sql(s"SELECT * FROM pme_verify('$target', options => $literal)").collect()
    val expected = Verification.verify(spark, target, watched).findings.collect()
    assertEquals(called.toSeq, expected.toSeq)
    val sample = spark.sql(
      s"SELECT * FROM pme_verify('$target', options => $literal, files => 0.2, pages => 1, seed => 3)"
    )
    assert(sample.count() < 5)
  }

  test("allowed plaintext files are no findings") {
    people.coalesce(1).write.parquet(target)
    assertEquals(found("plaintextFiles" -> "allow"), Nil)
    val done = opened("plaintextFiles" -> "allow")
    assertEquals((done.files, done.modules), (1L, 0L))
  }

  test("columns under other keys than the options name are found") {
    val file = several(1, "columnKeys" -> "pay: salary").head
    val all = findings("footerKey" -> "footer", "columnKeys" -> "pii: id, ssn; pay: salary")
    assertEquals(
      all.map(one => (one.file.split('/').last, one.condition, one.column)).toSet,
      Set("id", "ssn").map(column => (file.getFileName.toString, KeyMetadata.name, Option(column)))
    )
    all.foreach(one =>
      assert(
        one.message.contains("the footer's key, 'footer', but columnKeys requires key 'pii'"),
        one.message
      )
    )
  }

  test("a missing file of key material is found") {
    val made = several(3, "keyMaterial" -> "external")
    assertEquals(found(), Nil)
    val before = opened().modules
    Files.delete(materialOf(made.head))
    assertEquals(found(), Seq(inFooter(made.head, KeyMetadata)))
    val others = made.tail.map(one => Verification.verify(spark, one.toString, watched).opened.modules).sum
    assertEquals(opened().modules, others)
    assert(others < before)
  }

  test("another AAD prefix than the reader's is found") {
    for (
      (stored, prefix, condition) <- Seq(
        ("true", Some("another"), Some(AadPrefix)),
        ("false", Some("another"), Some(NotAuthentic)),
        ("false", None, Some(AadPrefix)),
        ("true", Some("orders"), None),
        ("false", Some("orders"), None),
        ("true", None, None)
      )
    ) {
      val path = s"$target-$stored"
      if (!Files.exists(directory.resolve(path)))
        write(
          people.coalesce(1),
          watched ++ protection ++ Map("aadPrefix" -> "orders", "storeAadPrefix" -> stored),
          path
        )
      val all = findingsOf(path, Sample(), prefix.map("aadPrefix" -> _).toMap)
      assertEquals(all.map(place), condition.map(inFooter(files(path).head, _)).toSeq, s"$stored $prefix")
    }
  }

  test("pages without a tag are refused unless they are accepted") {
    val file = several(1, "algorithm" -> "AES_GCM_CTR_V1").head
    assertEquals(found(), Seq(inFooter(file, Algorithm)))
    assertEquals(found("algorithm" -> "AES_GCM_CTR_V1"), Nil)
    assert(opened("algorithm" -> "AES_GCM_CTR_V1").untaggedPages > 0)
  }

  for ((kind, condition) <- Seq("denied" -> KeyDenied, "missing" -> KeyNotFound))
    test(s"a key that is $kind is found once for each column, and a footer's once for the file") {
      val made = several(2, "columnKeys" -> "pii: id, ssn")
      val all = opened().modules
      def without(key: String) =
        if (kind == "denied") WatchedKms.denies = Set(key) else WatchedKms.lacks = Set(key)
      without("pii")
      val places =
        for (file <- made; column <- Seq("id", "ssn"))
          yield (file.getFileName.toString, None, Option(column), None, None, condition.name): Place
      assertEquals(found().toSet, places.toSet)
      assertEquals(found().size, places.size)
      val some = opened().modules
      assert(0 < some && some < all, s"$some of $all")
      without("footer")
      assertEquals(found().toSet, made.map(inFooter(_, condition)).toSet)
      assertEquals(found().size, 2)
      assertEquals(opened().modules, 0L)
    }

  test("the KMS is asked once for each key") {
    several(4)
    WatchedKms.calls.clear()
    assertEquals(found(), Nil)
    assertEquals(WatchedKms.count("unwrap"), old.map(_ -> 1).toMap)
  }

  test("what a session has read is opened again") {
    val file = several(1).head
    val options = watched
    reader(options).load(target).collect()
    assertEquals(Verification.verify(spark, target, options).findings.count(), 0L)
    val before = Files.getLastModifiedTime(file)
    AlteredFile.flip(file, -TailBytes - 1)
    Files.setLastModifiedTime(file, before)
    assertEquals(
      Verification.findings(spark, target, options, Sample(), allFiles = false).map(place),
      Seq(inFooter(file, NotAuthentic))
    )
  }

  private def checksums(file: Path) = file.resolveSibling(s".${file.getFileName}.crc")

  /** Alters a file, and lets Hadoop's checksum stay that of the old bytes. */
  private def spoil(file: Path, places: Int*): Unit = {
    val kept = Files.readAllBytes(checksums(file))
    places.foreach(AlteredFile.flip(file, _))
    Files.write(checksums(file), kept)
    ()
  }

  test("a failed checksum of the storage is damage, of a small file of all of it") {
    val file = several(1).head
    spoil(file, 100)
    assertEquals(found(), Seq(inFooter(file, DamagedFile)))
  }

  test("a page that fails the storage's checksum is one finding, and the file stays") {
    // Pages of several checksums, in a file that is not all read with its footer.
    val texts =
      "concat_ws('', transform(sequence(1, 1000), n -> sha2(cast(id * 1000 + n as string), 512))) AS many"
    val pageOfARow = Map(
      "uniformKey" -> "footer",
      "compression" -> "none",
      "parquet.page.row.count.limit" -> "1",
      "parquet.page.size.row.check.min" -> "1",
      "parquet.enable.dictionary" -> "false"
    )
    write(spark.range(0, 8, 1, 1).selectExpr("id", texts), watched ++ pageOfARow)
    val file = files().head
    val whole = opened().modules
    val modules = AlteredFile.modules(Files.readAllBytes(file))
    // Pages of `many` follow those of `id`, and each has a header before it. A checksum covers several modules that are close together.
    val long = modules.filter(_._2 > 100000)
    assertEquals(long.size, 8)
    for (pages <- Seq(Seq(1), Seq(2, 5))) {
      val content = Files.readAllBytes(file)
      val kept = Files.readAllBytes(checksums(file))
      spoil(file, pages.map(page => long(page)._1 + long(page)._2 / 2): _*)
      assertEquals(found(), pages.map(inPage(file, "many", _, DamagedFile)))
      assertEquals(opened().modules, whole - pages.size)
      assert(Files.exists(file) && Files.exists(checksums(file)))
      Files.write(file, content)
      Files.write(checksums(file), kept)
    }
    assertEquals(found(), Nil)
  }

  test("a sample of files is the same in every run, and another seed's another one") {
    several(8).foreach(damage)
    val sample = Sample(files = 0.25, seed = 7)
    val runs = Seq.fill(2)(Verification.verify(spark, target, watched, sample))
    assertEquals(runs.map(_.findings.collect().toSeq).distinct.size, 1)
    assertEquals(
      runs.map(run => (run.findings.count(), run.opened.files, run.skippedFiles)).distinct,
      Seq((2L, 2L, 6L))
    )
    val seeds =
      (0 until 6).map(seed => findingsOf(target, Sample(files = 0.25, seed = seed.toLong)).map(place))
    assert(seeds.distinct.size > 1)
  }

  test("a sample is a fraction") {
    for (
      fraction <- Seq(0, -0.5, 1.01, Double.NaN);
      sample <- Seq(() => Sample(files = fraction), () => Sample(pages = fraction))
    )
      refused(BadOption, "sample", "a fraction above 0")(findingsOf(target, sample()))
  }
}
