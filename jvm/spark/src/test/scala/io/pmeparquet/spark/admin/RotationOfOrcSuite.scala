package io.pmeparquet.spark.admin

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime

import scala.collection.JavaConverters._

import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.AlteredFile.bytes
import io.pmeparquet.Condition.{BadOption, DamagedFile, KeyNotFound, UnknownColumn, Unsupported}

/** Rotation of ORC tables by the same job as Parquet's, under a KMS that only wraps, and under one that gives keys out. */
class RotationOfOrcSuite extends WatchedTableSuite {
  private val columns = Map("columnKeys" -> "pii: ssn; pay: salary")
  private val masters = Seq("pay", "pii")
  private val all = RotationSettings(masterKeys = Some(masters.map(name => name -> s"$name-2").toMap))
  private def to(names: (String, String)*) = RotationSettings(masterKeys = Some(names.toMap))

  private def writeOrc(options: Map[String, String] = watched): Seq[Path] = {
    people.repartition(2).write.format("pme-orc").options(options ++ columns).save(target)
    allFiles().filter(_.getFileName.toString.endsWith(".orc"))
  }

  private def loadOrc(options: Map[String, String] = watched): DataFrame =
    spark.read.format("pme-orc").options(options).load(target)

  private def readOrcWithout(lacking: Seq[String]): Unit = {
    WatchedKms.lacks = lacking.toSet
    try assertEquals(rows(loadOrc()), rows(people))
    finally WatchedKms.lacks = Set.empty
  }

  private def rotate(
      settings: RotationSettings = all,
      options: Map[String, String] = watched
  ): Seq[FileReport] =
    Rotation.reports(spark, target, options, settings)

  private def counts(reports: Seq[FileReport]): Map[String, Int] =
    reports.groupBy(_.status).map { case (status, some) => status -> some.size }

  test("all keys get new master keys, and nothing of the old wrapped keys is left") {
    writeOrc()
    val wrapped = WatchedKms.wrapped.toList
    WatchedKms.calls.clear()
    val done = rotate()
    assertEquals(counts(done), Map("rotated" -> 2))
    assertEquals(done.map(_.masterKeys).distinct, Seq(Seq("pay-2", "pii-2")))
    assertEquals(
      done.map(one => (one.rewrapped, one.left, one.material)).distinct,
      Seq((2, Nil, Some("internal")))
    )
    assertEquals(WatchedKms.count("wrap"), Map("pay-2" -> 1, "pii-2" -> 1))
    assertEquals(left(wrapped), Nil)
    readOrcWithout(masters)
    WatchedKms.lacks = Set("pii-2")
    refused(KeyNotFound, "pii-2")(loadOrc().collect())
    assertEquals(rows(loadOrc().select("id", "salary")), rows(people.select("id", "salary")))
  }

  test("a dry run and key usage say what a rotation does") {
    writeOrc()
    def used() = KeyUsage.found(spark, target, watched).map { found =>
      (found.one.masterKeyId, found.one.wrapping, found.files, found.distinct(_.columns))
    }
    val before = Seq(
      (None, None, 2L, Seq("id")),
      (Some("pay"), Some("double"), 2L, Seq("salary")),
      (Some("pii"), Some("double"), 2L, Seq("ssn"))
    )
    assertEquals(used(), before)
    untouched()(assertEquals(counts(rotate(to("pii" -> "pii-2").copy(dryRun = true))), Map("rotated" -> 2)))
    val done = rotate(to("pii" -> "pii-2"))
    assertEquals(done.map(_.left).distinct, Seq(Seq("pay")))
    assertEquals(used().map(_._1), Seq(None, Some("pay"), Some("pii-2")))
    readOrcWithout(Seq("pii"))
  }

  test("a rotation that stopped continues, and a misspelt name is distinguished from finished work") {
    val first = writeOrc().head
    Rotation.reports(spark, first.toString, watched, all)
    val leftover = Files.write(directory.resolve("table/.pme-rotation-1"), bytes("half a file"))
    assertEquals(counts(rotate()), Map("unchanged" -> 1, "rotated" -> 1))
    assert(!Files.exists(leftover))
    untouched()(assertEquals(counts(rotate()), Map("unchanged" -> 2)))
    untouched()(refused(BadOption, "'pi'", "pay-2, pii-2")(rotate(to("pi" -> "pii-2"))))
    readOrcWithout(masters)
  }

  test("a rotation with another aim is refused while the mark of one is there") {
    writeOrc()
    val mark = Files.createFile(directory.resolve("table/.pme-rotating-0123456789abcdef"))
    untouched()(refused(Unsupported, mark.getFileName.toString)(rotate()))
  }

  test("a new master key that cannot wrap is one failure, and no file changes") {
    writeOrc()
    WatchedKms.lacks = Set("pii-2")
    untouched()(refused(KeyNotFound, "pii-2")(rotate()))
  }

  test("a file that was written again meanwhile does not change") {
    val victim = writeOrc().head
    val before = Files.readAllBytes(victim).toSeq
    WatchedKms.meanwhile =
      call => if (call.startsWith("wrap")) Files.setLastModifiedTime(victim, FileTime.fromMillis(0))
    val done = rotate()
    assertEquals(counts(done), Map("failed" -> 1, "rotated" -> 1))
    assertEquals(done.flatMap(_.condition), Seq(Unsupported.name))
    assertEquals(Files.readAllBytes(victim).toSeq, before)
    WatchedKms.meanwhile = _ => ()
    assertEquals(counts(rotate()), Map("rotated" -> 1, "unchanged" -> 1))
    readOrcWithout(masters)
  }

  test("files of both formats in one directory are rotated together, and damaged ones reported") {
    writeOrc()
    write(people.coalesce(1), watched ++ protection, s"$target/more")
    Files.write(directory.resolve("table/bent.orc"), "ORC and no more".getBytes(UTF_8))
    people.coalesce(1).write.orc(s"$target/plain")
    val done = rotate(RotationSettings(masterKeys = Some(renewed)))
    assertEquals(counts(done), Map("rotated" -> 3, "failed" -> 1, "skipped" -> 1))
    assertEquals(done.flatMap(_.condition), Seq(DamagedFile.name))
    assertEquals(done.filter(_.status == "failed").map(_.file).filter(_.endsWith("bent.orc")).size, 1)
  }

  test("local keys under master keys that a KMS gives out are refused, with what to do") {
    val keys = holding("pii", "pay", "pii-2", "pay-2")
    writeOrc(keys)
    for (settings <- Seq(all, RotationSettings(), all.copy(dryRun = true), to("pii" -> "pii-2"))) {
      val done = untouched()(rotate(settings, keys))
      assertEquals(counts(done), Map("failed" -> 2))
      assertEquals(done.flatMap(_.condition).distinct, Seq(Unsupported.name))
      assert(done.flatMap(_.message).forall(_.contains("rekey")), done.toString)
    }
    untouched()(refused(BadOption, "'nope'", "pay, pii")(rotate(to("nope" -> "pii-2"), keys)))
  }

  test("key material beside ORC files is refused") {
    writeOrc()
    val done = untouched()(rotate(all.copy(keyMaterial = Some("external"))))
    assertEquals(done.flatMap(_.condition), Seq.fill(2)(Unsupported.name))
  }

  test("a copy with new keys has the same rows under other master keys, whichever KMS has them") {
    writeOrc()
    val keys = holding("new", "pay-2")
    val named = keys + ("columnKeys" -> "new: ssn; pay-2: salary")
    val to = directory.resolve("copy").toString
    val done = untouched()(TableCopies.rekey(spark, target, to, watched.asJava, named.asJava))
    assertEquals((done.files, done.rows), (2L, 40L))
    val copied = spark.read.format("pme-orc").options(named).load(to)
    assertEquals(rows(copied), rows(people))
    val found = KeyUsage.found(spark, to, Map.empty)
    assertEquals(found.flatMap(_.distinct(_.problem)), Nil)
    assertEquals(
      found.map(use => use.one.masterKeyId -> use.one.wrapping),
      Seq(None -> None, Some("new") -> Some("orc"), Some("pay-2") -> Some("orc"))
    )
    // From a KMS that gives keys out to one that only wraps them.
    val back = directory.resolve("back").toString
    TableCopies.rekey(spark, to, back, keys.asJava, (watched ++ columns).asJava)
    WatchedKms.lacks = Set("new", "pay-2")
    assertEquals(rows(spark.read.format("pme-orc").options(watched ++ columns).load(back)), rows(people))
  }

  test("a copy of ORC files that cannot be made leaves nothing") {
    writeOrc()
    val to = directory.resolve("copy").toString
    def rekey(options: (String, String)*) =
      TableCopies.rekey(spark, target, to, watched.asJava, (watched ++ columns ++ options).asJava)
    untouched() {
      refused(Unsupported, "'salary'")(rekey("columnKeys" -> "pii: ssn"))
      refused(Unsupported, "'id'")(rekey("columnKeys" -> "pii: ssn, id; pay: salary"))
      refused(BadOption, "footerKey")(rekey("footerKey" -> "footer"))
      for (ignored <- Seq("orc.mask" -> "sha256:ssn", "ORC.encrypt" -> "pii:id", "orc.compress" -> "none"))
        refused(BadOption, ignored._1)(rekey(ignored))
      refused(UnknownColumn, "nope")(rekey("columnKeys" -> "pii: ssn, nope; pay: salary"))
      WatchedKms.lacks = Set("pii")
      refused(KeyNotFound, "pii")(rekey())
    }
    assertEquals(Files.list(directory).iterator.asScala.map(_.getFileName.toString).toSet, Set("table"))
  }

  test("a copy of ORC files whose columnKeys names a partition column is refused, and leaves nothing") {
    people.repartition(2).write.format("pme-orc").options(watched ++ columns).partitionBy("id").save(target)
    val to = directory.resolve("copy").toString
    def rekey(columns: String) =
      TableCopies.rekey(spark, target, to, watched.asJava, (watched + ("columnKeys" -> columns)).asJava)
    untouched()(refused(Unsupported, "'id'")(rekey("pii: ssn, id; pay: salary")))
    assert(!Files.exists(directory.resolve("copy")))
    Files.createFile(allFiles().filter(_.toString.endsWith(".orc")).head.resolveSibling("empty.orc"))
    assertEquals(rekey("pii: ssn; pay: salary").rows, 40L)
  }

  test("copies without encryption, and encryption in place, refuse ORC files by name") {
    writeOrc()
    val write = (watched ++ columns + ("footerKey" -> "footer")).asJava
    val to = directory.resolve("copy").toString
    untouched() {
      refused(Unsupported, "pme-orc")(TableCopies.decrypt(spark, target, to, watched.asJava, true))
      val failed = TableCopies.encryptInPlace(spark, target, Map.empty[String, String].asJava, write).failed
      assertEquals(failed.asScala.map(_.condition).toSeq, Seq.fill(2)(Unsupported.name))
    }
    assert(!Files.exists(directory.resolve("copy")))
  }

  test("files of a transactional table of Hive are refused by reads and rotation") {
    val written = writeOrc().head
    val places = Seq(
      "base_0000002" -> "000000_0",
      "delta_0000001_0000001_0000" -> "bucket_00000",
      "delete_delta_0000001_0000001_0000" -> "bucket_00000_0",
      "base_0000002_v0000009" -> "bucket_00001"
    )
    for ((place, name) <- places) {
      val file = directory.resolve(s"acid/$place/$name")
      Files.createDirectories(file.getParent)
      Files.copy(written, file)
      refused(Unsupported, "ACID", name)(
        spark.read.format("pme-orc").options(watched).load(file.getParent.toString).collect()
      )
      val done = Rotation.reports(spark, file.getParent.toString, watched, all)
      assertEquals(done.flatMap(_.condition), Seq(Unsupported.name))
    }
    // A directory of another writer that has such a name.
    val other = directory.resolve("base_2026")
    Files.createDirectories(other)
    Files.copy(written, other.resolve(written.getFileName))
    assert(spark.read.format("pme-orc").options(watched).load(other.toString).count() > 0)
  }

  test("keys move to another KMS") {
    writeOrc()
    val elsewhere = Map("parquet.encryption.kms.instance.id" -> "elsewhere")
    assertEquals(counts(rotate(RotationSettings(newKms = Some(watched ++ elsewhere)))), Map("rotated" -> 2))
    assertEquals(rows(loadOrc(watched ++ elsewhere)), rows(people))
  }
}
