package io.pmeparquet.spark.admin.seal

import java.nio.file.{Files, Path, Paths}

import scala.collection.JavaConverters._

import org.apache.spark.sql.{Row, SparkSession}

import io.pmeparquet.parquet.summary.{SummaryKind, WantedSummary}
import io.pmeparquet.spark.{AlteredFile, SealedSuite}
import io.pmeparquet.spark.admin.{Rotation, RotationSettings, TableCopies, Verification}
import io.pmeparquet.spark.keys.HolderKms
import io.pmeparquet.Condition.{
  BadOption,
  NotAuthentic,
  SnapshotDamaged,
  SnapshotMismatch,
  SnapshotNotAuthentic,
  UnknownColumn,
  UnknownOption,
  Unsupported
}

/** The versions of a sealed table: their history, their indexes, and what operations on the table make of them. */
class SealedHistorySuite extends SealedSuite {

  // Expiry: what it deletes is in ExpirySuite.

  private def expire(path: String, keep: Int, options: Options = kms) = {
    val done = SnapshotVersions.expire(spark, path, options, keep)
    (done.versions, done.parts)
  }

  test("old versions expire, also those that lie elsewhere, and the newest is read") {
    val lists = Map("snapshotLocation" -> directory.resolve("lists").toString)
    for ((path, where) <- Seq(target -> Map.empty[String, String], s"$target-other" -> lists)) {
      save(numbers(), path)
      seal(path, kms ++ where)
      for (version <- Seq(1L, 2L)) Sealing.seal(spark, path, kms ++ where, expect = Some(version.toString))
      val data = files(path).map(Files.readAllBytes(_).toSeq)
      assertEquals(expire(path, 1, kms ++ where), (2, 0))
      assertEquals(idsOf(path, where ++ required), range(20))
      assertEquals(files(path).map(Files.readAllBytes(_).toSeq), data)
    }
    assertEquals(versions(), Seq(3L))
    assertEquals(seal().version, 4L)
    assertEquals(idsOf(target, Map("minSnapshot" -> "4")), range(20))
  }

  test("a table that was put back, one without a snapshot and a partition do not expire") {
    sealedTable(numbers())
    seal()
    ids(load())
    delete(manifestOf(2))
    untouched() {
      refused(SnapshotNotAuthentic, "this session has read version 2")(expire(target, 1))
      ()
    }
    val other = s"$target-other"
    save(byCountry(), other, Seq("country"))
    refused(BadOption, "it has no snapshot")(expire(other, 1))
    refused(BadOption, "it has no snapshot")(Sealing.dropIndexes(spark, other, kms, Seq("id")))
    seal(other)
    refused(BadOption, "it is a part of the table")(expire(s"$other/country=fr", 1))
  }

  // The history in SQL.

  private def call(function: String, options: Options, more: String = ""): String = {
    val pairs = options.flatMap { case (name, value) => Seq(s"'$name'", s"'$value'") }
    s"SELECT * FROM $function('$target', options => map(${pairs.mkString(", ")})$more)"
  }

  private def sealing(more: String = "", options: Options = Map.empty): String =
    call("pme_seal", kms ++ options, s", expect => '${versions().lastOption.getOrElse("unsealed")}'$more")

  private def history(options: Options = Map.empty, session: SparkSession = spark): Seq[Row] =
    session.sql(call("pme_snapshots", kms ++ options)).collect().toSeq

  /** Columns and kinds of indexes, with their keys. */
  private def indexes(path: String = target): Seq[String] = {
    val newest = SnapshotVersions.all(fresh, path, kms).head.manifest
    newest.indexes.map(index => s"${index.label} ${index.field} ${index.key.orNull}")
  }

  test("only a statement that runs seals, once, with the indexes of an array") {
    save(numbers().selectExpr("id", "named_struct('zip', id) AS address"))
    untouched() {
      spark.sql(s"EXPLAIN ${sealing()}").collect()
      assertEquals(spark.sql(sealing()).columns.head, "version")
      for (
        (columns, reason) <- Seq(
          "'id'" -> "an array of strings",
          "array(1)" -> "an array of strings",
          "array('id', NULL)" -> "element 2 is NULL"
        )
      ) refused(BadOption, "min_max", reason)(spark.sql(sealing(s", min_max => $columns")))
      for (function <- Seq("pme_seal", "pme_snapshots"))
        refused(UnknownOption, "signingKey")(spark.sql(call(function, Map("signingKy" -> "x"))))
    }
    val report = spark.sql(sealing(", min_max => array('id', 'address.zip')"))
    assertEquals(report.collect().toSeq, report.collect().toSeq)
    assertEquals(versions(), Seq(1L))
    val both = Seq("minMax(id) index_0 footer", "minMax(address.zip) index_1 footer")
    assertEquals(indexes(), both)
    spark.sql(sealing()).collect()
    assertEquals(indexes(), both)
    spark.sql(sealing(", min_max => array()")).collect()
    assertEquals((versions(), indexes()), (Seq(1L, 2L, 3L), Nil))
  }

  test("the history is that of the manifests, the newest first") {
    save(numbers())
    assertEquals(history(), Nil)
    val made = Seq(0, 5).map { count =>
      if (count > 0) plant(numbers(20, count, files = 1))
      seal()
    }
    val found = history()
    assertEquals(
      found.map(row => (row.getLong(0), row.getString(1), row.getLong(4), row.getLong(5), row.getLong(6))),
      made.reverse.map(one => (one.version, one.digest, one.files, one.rows, one.bytes))
    )
    assertEquals(
      found.map(row => (row.getString(7), row.getString(8))).distinct,
      Seq("HMAC-SHA256" -> "footer")
    )
    val manifests = SnapshotVersions.all(fresh, target, kms).map(_.manifest)
    assertEquals(
      found.map(row => row.getString(2) -> row.getString(3)),
      manifests.map(one => one.created -> one.creator)
    )
    expire(target, 1)
    assertEquals(history().map(_.getLong(0)), Seq(2L))
  }

  test("a history with a forged version, or older than required, is refused") {
    save(numbers())
    refused(SnapshotMismatch, "the table has no snapshot")(history(required))
    seal()
    refused(SnapshotNotAuthentic, "minSnapshot=2")(history(Map("minSnapshot" -> "2")))
    seal()
    assertEquals(history(Map("minSnapshot" -> "2")).size, 2)
    for (version <- Seq(1L, 2L)) {
      val file = manifestOf(version)
      val content = Files.readAllBytes(file)
      AlteredFile.replace(
        file,
        new String(content, "UTF-8").replace("\"rows\":20", "\"rows\":21").getBytes("UTF-8")
      )
      refused(SnapshotNotAuthentic, file.getFileName.toString, "its HMAC does not match")(history())
      AlteredFile.replace(file, content)
    }
    delete(manifestOf(2))
    refused(SnapshotNotAuthentic, "this session has read version 2")(history())
    assertEquals(history(session = fresh).size, 1)
  }

  // Indexes.

  private def people(start: Long = 0, count: Int = 20, files: Int = 2) =
    numbers(start, count, files).selectExpr("id", "id * 1.5D AS salary", "concat('name-', id) AS name")
  private val holder = HolderKms.options("footer", "pii", "pay")
  private val protection = Map("footerKey" -> "footer", "columnKeys" -> "pii: name; pay: salary")

  private def drop(columns: String*): SealResult = Sealing.dropIndexes(spark, target, kms, columns)

  private def opened(condition: String): (Seq[Long], Int) = {
    val frame = load().where(condition)
    (ids(frame), filesRead(frame.select("id")))
  }

  test("an index is dropped without opening a file, and the others keep their ranges") {
    save(people(), options = kms ++ protection)
    seal(indexes = minMax("id", "salary", "name"))
    assertEquals(
      indexes(),
      Seq("minMax(id) index_0 footer", "minMax(salary) index_1 pay", "minMax(name) index_2 pii")
    )
    assertEquals(opened("id < 3"), (range(3), 1))
    assertEquals(opened("salary < 4"), (range(3), 1))
    untouched() {
      refused(UnknownColumn, "column 'ssn' has no such index", "minMax(id), minMax(salary)")(
        drop("id", "ssn")
      )
      ()
    }
    val made = drop("id")
    assertEquals((made.version, made.files, made.opened), (2L, 2L, 0L))
    assertEquals(indexes(), Seq("minMax(salary) index_0 pay", "minMax(name) index_1 pii"))
    assertEquals(opened("id < 3"), (range(3), 2))
    assertEquals(opened("salary < 4"), (range(3), 1))
    assertEquals(opened("salary > 26"), (Seq(18L, 19L), 1))
    assertEquals(opened("name = 'name-0'"), (Seq(0L), 1))
    assertEquals(drop("salary", "name").opened, 0L)
    assertEquals(indexes(), Nil)
    assertEquals(idsOf(target, required), range(20))
  }

  test("sealing with fewer indexes opens only new files") {
    save(people(), options = kms ++ protection)
    seal(indexes = minMax("id", "salary", "name"))
    plant(people(20, 5, files = 1), options = kms ++ protection)
    assertEquals(seal(indexes = minMax("salary")).opened, 1L)
    assertEquals(opened("salary < 4"), (range(3), 1))
    assertEquals(opened("salary > 36"), (Nil, 0))
    assertEquals(opened("salary > 35"), (Seq(24L), 1))
    assertEquals(seal(indexes = minMax("salary", "id")).opened, 3L)
    assertEquals(opened("id > 23"), (Seq(24L), 1))
  }

  test("dropping an index does not need its key") {
    save(people(), options = holder ++ protection)
    seal(options = holder, indexes = minMax("id", "name"))
    val lacking = HolderKms.options("footer")
    for (column <- Seq("id", "name"))
      assertEquals(Sealing.dropIndexes(spark, target, lacking, Seq(column)).opened, 0L)
    assertEquals(SnapshotVersions.all(fresh, target, lacking).map(_.manifest.indexes.size), Seq(0, 1, 2))
  }

  private val bloom = IndexRequests.of("name", SummaryKind.Bloom(0.001, None))
  private val kinds: Option[Seq[WantedSummary]] =
    Some(Seq(IndexRequests.of("id", SummaryKind.MinMax), bloom, IndexRequests.of("name", SummaryKind.MinMax)))
  private val byPay = Map("indexKeys" -> "pay: name")

  test("an index is dropped by its kind") {
    save(people(), options = kms ++ protection)
    seal(options = kms ++ byPay, indexes = kinds)
    val made = Sealing.dropIndexes(spark, target, kms ++ byPay, Seq("name"), Some("bloom"))
    assertEquals((made.version, made.opened), (2L, 0L))
    assertEquals(indexes(), Seq("minMax(id) index_0 footer", "minMax(name) index_1 pay"))
    untouched() {
      refused(UnknownColumn, "column 'name' has no such index", "minMax(name)") {
        Sealing.dropIndexes(spark, target, kms, Seq("name"), Some("bloom"))
      }
      ()
    }
    drop("name", "id")
    assertEquals(indexes(), Nil)
  }

  test("a seal keeps no key of an index that only an HMAC vouches for") {
    save(people(), options = kms ++ protection)
    seal(options = kms ++ byPay, indexes = kinds)
    // Who has the footer's key could have written it, to get an index of a column that he cannot read.
    untouched() { refused(BadOption, "the key 'pay'")(drop("id")); () }
    plant(people(20, 5, files = 1), options = kms ++ protection)
    untouched() {
      refused(BadOption, "bloom(name) has the key 'pay', and its column has 'pii'", "indexKeys")(seal())
      refused(SnapshotMismatch, "the file was added") {
        Sealing.dropIndexes(spark, target, kms ++ byPay, Seq("id"))
      }
      // Other settings make no other index of it.
      refused(BadOption, "the key 'pay'") {
        seal(indexes = Some(Seq(IndexRequests.of("name", SummaryKind.Bloom(0.1, None)))))
      }
      ()
    }
    assertEquals(seal(options = kms ++ byPay).opened, 1L)
    seal(options = kms + ("indexKeys" -> "pii: name"))
    assertEquals(indexes().filter(_.contains("name")).map(_.split(' ').last).distinct, Seq("pii"))
    assertEquals(seal().version, 4L)
  }

  // Operations.

  private def findings(path: String = target, options: Options = Map.empty): Seq[(String, String)] =
    Verification
      .verify(spark, path, kms ++ options)
      .findings
      .select("file", "condition")
      .collect()
      .map(row => Paths.get(row.getString(0)).getFileName.toString -> row.getString(1))
      .toSeq
      .sorted

  private def nameOf(file: Path) = file.getFileName.toString

  test("verify finds missing, added and changed files, and a snapshot that is not authentic") {
    sealedTable(numbers())
    assertEquals(findings(), Nil)
    val (first, second) = both()
    val added = plant(numbers(20, 3, files = 1)).head
    delete(first)
    AlteredFile.flipInModule(second, 1)
    val changed = Seq(first, second, added).map(nameOf(_) -> SnapshotMismatch.name)
    assertEquals(findings().toSet, (changed :+ (nameOf(second) -> NotAuthentic.name)).toSet)
    assertEquals(findings(options = Map("snapshot" -> "off")).map(_._1), Seq(nameOf(second)))
    val other = sealedTable(numbers(), s"$target-other")
    val manifest = manifestOf(1, other)
    AlteredFile.change(manifest)(content =>
      new String(content, "UTF-8").replace("\"rows\":20", "\"rows\":21").getBytes("UTF-8")
    )
    assert(findings(other).contains(s"table-other" -> SnapshotNotAuthentic.name), findings(other))
  }

  test("verify finds files of indexes and lists that are not as they were sealed") {
    sealedTable(people(), indexes = minMax("id", "salary", "name"), options = kms ++ protection)
    seal(indexes =
      Some(minMax("id", "salary", "name").get :+ IndexRequests.of("id", SummaryKind.ValueList(64)))
    )
    val stored = SnapshotVersions.all(fresh, target, kms).head.manifest.parts.head
    val found = stored.indexes.map { case (_, file) => snapshotsOf().resolve(file.name) }
    val (altered, cut, gone, swapped) = (found.head, found(1), found(2), found(3))
    AlteredFile.replace(swapped, Files.readAllBytes(cut))
    AlteredFile.flip(altered, Files.size(altered).toInt / 2)
    AlteredFile.change(cut)(_.dropRight(1))
    delete(gone)
    val expected = Map(
      nameOf(altered) -> SnapshotNotAuthentic.name,
      nameOf(cut) -> SnapshotDamaged.name,
      nameOf(gone) -> SnapshotDamaged.name,
      nameOf(swapped) -> SnapshotDamaged.name
    )
    // This session has read the list now.
    assertEquals(ids(load()), range(20))
    assertEquals(findings().toMap, expected)
    // A file of the list ends reads, except where a session remembers what it says.
    val list = snapshotsOf().resolve(stored.list.name)
    delete(list)
    assertEquals(findings().toMap, expected + (nameOf(list) -> SnapshotDamaged.name))
    rekey(s"$target-copy")
  }

  private def rekey(to: String) =
    TableCopies.rekey(spark, target, to, kms.asJava, (kms + ("footerKey" -> "other")).asJava)

  test("a copy of a sealed table compares it with its snapshot first") {
    sealedTable(numbers())
    rekey(s"$target-copy")
    assertEquals(idsOf(s"$target-copy"), range(20))
    delete(files().head)
    refused(SnapshotMismatch, "it is missing")(rekey(s"$target-second"))
    assert(!Files.exists(Paths.get(s"$target-second")))
  }

  test("a rotation seals the table again, and files with other keys are not sealed") {
    sealedTable(people(), options = kms ++ protection)
    Rotation.rotate(spark, target, kms, RotationSettings(None, Some(Map("pii" -> "pii-2"))))
    assertEquals(versions(), Seq(1L, 2L))
    assertEquals(load().count(), 20L)
    assertEquals(findings(), Nil)
    val other = plant(people(20, 5, files = 1), options = kms ++ protection).head
    refused(Unsupported, "differ in their keys")(seal())
    delete(other)
    assertEquals(seal().opened, 0L)
    assertEquals(load().count(), 20L)
  }
}
