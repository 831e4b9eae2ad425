package io.pmeparquet.spark.admin.seal

import java.nio.file.{Files, Path, Paths}
import java.nio.file.StandardCopyOption.REPLACE_EXISTING
import java.util.concurrent.Executors

import scala.collection.JavaConverters._
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration.Duration

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.types.StructType

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.spark.{AlteredFile, SealedSuite}
import io.pmeparquet.spark.admin.{Rotation, RotationSettings, TableCopies}
import io.pmeparquet.Condition.{
  BadOption,
  PlaintextFile,
  SnapshotDamaged,
  SnapshotMismatch,
  SnapshotNotAuthentic,
  Unsupported
}

/** What a write may add to a sealed table: its own files, to exactly those that the last version lists. */
class SealedWritesSuite extends SealedSuite {
  private val update = footer + ("snapshot" -> "update")
  private val table = new Kept(save(numbers(files = 1), _, options = footer + ("snapshot" -> "update")))

  private def append(start: Long, path: String, options: Options = footer, mode: String = "append"): Unit =
    save(numbers(start, files = 1), path, options = options, mode = mode)

  private def requiredIds(path: String = target, options: Options = Map.empty) =
    idsOf(path, required ++ options)

  private def sealAs(path: String, expect: String*) =
    Sealing.seal(spark, path, kms, expect = expect.headOption)

  /** A file with other ids under the same keys, which lies elsewhere. */
  private def otherFile(options: Options = footer): Path = {
    val elsewhere = directory.resolve("elsewhere").toString
    save(numbers(500, files = 1), elsewhere, options = options)
    files(elsewhere).head
  }

  private def kept[A](path: String, condition: Condition, words: String*)(step: => A): Unit =
    untouched(path) { refused(condition, words: _*)(step); () }

  // What begins a history.

  test("an update begins no history over files that no version lists") {
    val path = table()
    ids(load(path))
    delete(snapshotsOf(path))
    val other = otherFile()
    copy(other, Paths.get(path).resolve(other.getFileName))
    for (session <- Seq(spark, fresh))
      kept(path, SnapshotMismatch, "2 files and no snapshot", "expect") {
        session.range(20).write.format("pme-parquet").options(update).mode("append").save(path)
      }
  }

  test("a seal of files that no version lists names them, and needs a confirmation") {
    append(0, target)
    val name = files().head.getFileName.toString
    for (wrong <- Seq(Nil, Seq("2"), Seq("0000000000001")))
      kept(target, SnapshotMismatch, s"added $name", "unsealed")(sealAs(target, wrong: _*))
    assertEquals(sealAs(target, "unsealed").version, 1L)
    refused(SnapshotMismatch, "0 files changed since version 1")(sealAs(target, "unsealed"))
    for (wrong <- Seq("yes", "1 file", "-1", "changes:1", ""))
      kept(target, BadOption, "expect")(sealAs(target, wrong))
    // Only the directory of a whole table is sealed.
    val parts = s"$target-parts"
    save(byCountry(), parts, Seq("country"))
    refused(BadOption, "it is a part of the table")(sealAs(s"$parts/country=fr", "unsealed"))
    // Sealing leaves nothing else.
    val names = snapshotsOf().toFile.list.filterNot(_.startsWith(".")).map(_.takeWhile(_ != '-')).toSeq
    assertEquals(names.sorted, Seq("part", "snapshot"))
  }

  test("a session does not seal again a table whose snapshots it knew") {
    val path = table()
    ids(load(path))
    delete(snapshotsOf(path))
    refused(SnapshotNotAuthentic, "has read version 1")(sealAs(path, "unsealed"))
    // Nor does a write that asks for nothing leave it without a snapshot.
    kept(path, SnapshotMismatch, "1 files and no snapshot")(append(20, path))
    assertEquals(Sealing.seal(fresh, path, kms, expect = Some("unsealed")).version, 1L)
  }

  test("a full overwrite begins a history over anything, continues one, and repairs a damaged list") {
    append(0, target)
    append(100, target, update, "overwrite")
    assertEquals((versions(), requiredIds()), (Seq(1L), (100L until 120L)))
    val reader = fresh
    assertEquals(ids(load(target, session = reader)), (100L until 120L))
    append(200, target, update, "overwrite")
    append(300, target, mode = "overwrite")
    assertEquals((versions(), idsOf(target, Map("minSnapshot" -> "3"))), (Seq(1L, 2L, 3L), (300L until 320L)))
    // A session that knew an older version follows.
    assertEquals(ids(load(target, session = reader)), (300L until 320L))
    parts().foreach(delete)
    refused(SnapshotDamaged, "overwrite it again")(idsOf())
    refused(SnapshotDamaged)(append(20, target))
    save(numbers(400), target, mode = "overwrite")
    assertEquals((versions(), requiredIds()), (Seq(1L, 2L, 3L, 4L), (400L until 420L)))
    delete(files().head)
    refused(SnapshotMismatch, "overwrite it again")(idsOf())
    append(500, target, mode = "overwrite")
    assertEquals(requiredIds(), (500L until 520L))
  }

  // What a version adds.

  test("a seal shows a replaced file of the same length, and one that was only touched is the same") {
    val path = table()
    val old = files(path).head
    AlteredFile.replace(old, otherOfLength(Files.size(old)))
    kept(path, SnapshotMismatch, "the file was replaced")(append(20, path))
    kept(path, SnapshotMismatch, s"replaced ${old.getFileName}", "expect=1")(sealAs(path))
    assertEquals(sealAs(path, "1").replaced, 1L)
    age(old)
    append(20, path)
    assertEquals(sealAs(path).added, 0L)
    assertEquals(idsOf(path).size, 40)
  }

  /** A file of this length, of the same ids. */
  private def otherOfLength(length: Long): Array[Byte] = {
    val again = directory.resolve("again").toString
    save(numbers(files = 1), again, mode = "overwrite")
    val content = Files.readAllBytes(files(again).head)
    assertEquals(content.length.toLong, length)
    content
  }

  test("a file planted while a write runs is not sealed, and one removed then ends in no version") {
    val path = table()
    val (source, planted) = (otherFile(), Paths.get(path, "planted.parquet"))
    val (from, to) = (source.toString, planted.toString)
    val plant = udf { (id: Long) => Files.copy(Paths.get(from), Paths.get(to), REPLACE_EXISTING); id }
    save(numbers(20, files = 1).select(plant(col("id")).as("id")), path)
    assertEquals(versions(path), Seq(1L, 2L))
    refused(SnapshotMismatch, "planted.parquet", "not in the list")(idsOf(path))
    delete(planted)
    assertEquals(requiredIds(path), range(40))
    val removed = files(path).head.toString
    val remove = udf { (id: Long) => Files.deleteIfExists(Paths.get(removed)); id }
    refused(SnapshotMismatch, "the data is written, but the table is not sealed", "the file is missing") {
      save(numbers(40, files = 1).select(remove(col("id")).as("id")), path)
    }
    assertEquals(versions(path), Seq(1L, 2L))
  }

  test("a planted file is not sealed along, by an append or by dropping an index") {
    val path = table()
    seal(path, indexes = minMax("id"))
    plant(numbers(500, files = 1), path)
    kept(path, SnapshotMismatch, "the file was added")(append(20, path))
    kept(path, SnapshotMismatch, "the file was added")(Sealing.dropIndexes(spark, path, kms, Seq("id")))
  }

  test("a write that cannot seal, or names other keys than the table has, writes nothing") {
    val path = table()
    kept(path, Unsupported, "sign")(append(20, path, footer + ("signingKey" -> "signer")))
    val others = footer + ("columnKeys" -> "pii: id")
    kept(path, Unsupported, "'pii' for column 'id'", "'footer'")(append(20, path, others))
  }

  test("files with other keys than the rest are not sealed") {
    append(0, target, footer + ("columnKeys" -> "pay: id"))
    append(20, target, footer + ("columnKeys" -> "pii: id"))
    refused(Unsupported, "column 'id'", "'pay'", "'pii'")(sealAs(target, "unsealed"))
    assert(!Files.exists(snapshotsOf()))
  }

  test("appends at the same time are all sealed") {
    // Otherwise the committer of one write removes the temporary files of the other.
    val apart = footer ++ Map(
      "mapreduce.fileoutputcommitter.algorithm.version" -> "2",
      "mapreduce.fileoutputcommitter.cleanup.skipped" -> "true"
    )
    val path = table()
    def appended(start: Long): Boolean =
      try { append(start, path, apart); true }
      catch {
        // The other's files were committed and not sealed yet: this one has written nothing.
        case failed: Exception =>
          val ours = PmeException.find(failed).getOrElse(throw failed)
          if (ours.condition != SnapshotMismatch || ours.getMessage.contains("the data is written"))
            throw failed
          false
      }
    val pool = Executors.newFixedThreadPool(3)
    implicit val context: ExecutionContext = ExecutionContext.fromExecutor(pool)
    try {
      val all =
        Seq(20L, 40L, 60L).map(start => Future(Iterator.continually(appended(start)).take(50).contains(true)))
      assertEquals(Await.result(Future.sequence(all), Duration.Inf), Seq(true, true, true))
    } finally pool.shutdown()
    assertEquals(versions(path), Seq(1L, 2L, 3L, 4L))
    assertEquals(requiredIds(path), range(80))
  }

  // Every write of ours to a sealed table.

  test("a write that does not ask seals a sealed table as well") {
    for ((mode, found) <- Seq("append" -> range(40), "overwrite" -> (20L until 40L))) {
      val path = table()
      fresh.range(20, 40, 1, 1).write.format("pme-parquet").options(footer).mode(mode).save(path)
      assertEquals((versions(path), requiredIds(path)), (Seq(1L, 2L), found))
    }
  }

  test("an overwrite of a partition keeps the seal") {
    val french = byCountry(100).where("country = 'fr'")
    def expected = ids(byCountry().where("country != 'fr'").union(french))
    for (
      (name, how, setting) <- Seq(
        ("option", Map("partitionOverwriteMode" -> "dynamic"), "static"),
        ("session", Map.empty[String, String], "dynamic")
      )
    ) {
      val path = s"$target-$name"
      save(byCountry(), path, Seq("country"), update)
      set(Map("spark.sql.sources.partitionOverwriteMode" -> setting))
      save(french, path, Seq("country"), footer ++ how, "overwrite")
      assertEquals((versions(path), requiredIds(path)), (Seq(1L, 2L), expected), name)
    }
    set(Map("spark.sql.sources.partitionOverwriteMode" -> "static"))
    setOptions(footer)
    save(byCountry(), partitions = Seq("country"), options = update)
    spark.sql(
      s"CREATE TABLE sealed_parts (id LONG, country STRING) USING `pme-parquet` PARTITIONED BY (country) LOCATION '$target'"
    )
    spark.sql("MSCK REPAIR TABLE sealed_parts")
    french.createOrReplaceTempView("french")
    spark.sql("INSERT OVERWRITE sealed_parts PARTITION (country = 'fr') SELECT id FROM french")
    assertEquals((versions(), requiredIds()), (Seq(1L, 2L), expected))
  }

  test("a write that would leave a sealed table unsealed is refused") {
    save(byCountry(), partitions = Seq("country"), options = update)
    kept(target, Unsupported, "the table is sealed", "snapshot=off") {
      save(byCountry(20), partitions = Seq("country"), options = footer + ("snapshot" -> "off"))
    }
    kept(target, Unsupported, "one partition", "the table's directory")(append(20, s"$target/country=de"))
  }

  test("requirements of readers hold for writers") {
    val path = table()
    kept(path, SnapshotNotAuthentic, "version 1", "minSnapshot=2")(
      append(20, path, footer + ("minSnapshot" -> "2"))
    )
    delete(snapshotsOf(path))
    for (needed <- Seq(required, Map("minSnapshot" -> "1")))
      kept(path, SnapshotMismatch) {
        fresh.range(20).write.format("pme-parquet").options(footer ++ needed).mode("append").save(path)
      }
  }

  test("the session can ask for it, and SQL writes seal") {
    setOptions(update)
    spark.sql(s"CREATE TABLE sealed_by_sql USING `pme-parquet` LOCATION '$target' AS SELECT 1L AS id")
    spark.sql("INSERT INTO sealed_by_sql VALUES (2)")
    assertEquals((versions(), ids(spark.table("sealed_by_sql"))), (Seq(1L, 2L), Seq(1L, 2L)))
  }

  private val values =
    Seq("a b", "100%", "k=v", null, "ünï/ödé", "a:b", "x%3Dy", "", "*?[x]", "snapshot_", "_hidden") ++
      Seq(".dot", "a\\b", "+", "#q?")

  private def ofValues(start: Long): DataFrame = {
    val rows = values.zipWithIndex.map { case (value, at) => Row(start + at, value) }
    spark.createDataFrame(rows.asJava, StructType.fromDDL("id long, p string")).coalesce(1)
  }

  test("partition values of any kind are sealed") {
    val again = (20L until 35L)
    for (
      (name, mode, how, found) <- Seq[(String, String, Options, Seq[Long])](
        ("append", "append", Map.empty, range(15) ++ again),
        ("dynamic", "overwrite", Map("partitionOverwriteMode" -> "dynamic"), again),
        ("overwrite", "overwrite", Map.empty, again)
      )
    ) {
      val path = s"$target-$name"
      save(ofValues(0), path, Seq("p"), update)
      assertEquals(requiredIds(path), range(15))
      save(ofValues(20), path, Seq("p"), footer ++ how, mode)
      assertEquals(requiredIds(path), found, name)
    }
  }

  private def inCatalog(path: String, name: String): Unit = {
    save(numbers(0, 10).selectExpr("id", "id % 2 AS p"), path, Seq("p"), update)
    spark.sql(s"CREATE TABLE $name (id LONG, p LONG) USING `pme-parquet` PARTITIONED BY (p) LOCATION '$path'")
    spark.sql(s"MSCK REPAIR TABLE $name")
    ()
  }

  test("inserts of every kind keep a table sealed") {
    setOptions(footer)
    for (mode <- Seq("static", "dynamic")) {
      val (path, name) = (s"$target-$mode", s"attacked_$mode")
      inCatalog(path, name)
      set(Map("spark.sql.sources.partitionOverwriteMode" -> mode))
      for (
        statement <- Seq(
          s"INSERT INTO $name VALUES (100, 1)",
          s"INSERT INTO $name PARTITION (p = 7) VALUES (101)",
          s"INSERT OVERWRITE $name PARTITION (p = 1) VALUES (102)",
          s"INSERT OVERWRITE $name PARTITION (p = 7) IF NOT EXISTS VALUES (103)",
          s"INSERT OVERWRITE $name PARTITION (p = 7) SELECT 1L WHERE false",
          s"INSERT OVERWRITE $name VALUES (104, 1)"
        )
      ) {
        spark.sql(statement)
        assertEquals(requiredIds(path), ids(spark.table(name)), statement)
      }
      assert(ids(spark.table(name)).contains(104L))
    }
  }

  test("a partition with a location of its own is refused before the commit") {
    setOptions(footer)
    inCatalog(target, "attacked")
    spark.sql(s"ALTER TABLE attacked ADD PARTITION (p = 9) LOCATION '${directory.resolve("own")}'")
    kept(target, Unsupported, "location of its own")(spark.sql("INSERT INTO attacked VALUES (100, 9)"))
  }

  // Rotation.

  private def rotate(path: String, keys: (String, String)*)(session: SparkSession = spark) =
    Rotation.rotate(session, path, kms, RotationSettings(None, Some(keys.toMap)))

  test("a rotation keeps a table sealed, and of a part of it there is none") {
    save(byCountry(), partitions = Seq("country"), options = update)
    for (place <- Seq(s"$target/country=fr", files().head.toString))
      kept(target, Unsupported, "Rotate the whole table")(rotate(place, "footer" -> "footer-2")())
    val path = s"$target-whole"
    val own = footer + ("columnKeys" -> "pii: name")
    def frame(start: Long) = numbers(start).selectExpr("id", "concat('name-', id) AS name")
    sealedTable(frame(0), path, options = own)
    val reader = fresh
    assertEquals(ids(load(path, session = reader)), range(20))
    val done = rotate(path, "footer" -> "footer-2", "pii" -> "pii-2")()
    assertEquals(done.select("status").collect().map(_.getString(0)).toSeq, Seq("rotated", "rotated"))
    assertEquals(versions(path), Seq(1L, 2L))
    for (session <- Seq(reader, fresh)) assertEquals(ids(load(path, required, session)), range(20))
    assertEquals(idsOf(path, Map("footerKey" -> "footer-2")), range(20))
    save(frame(20), path, options = kms ++ Map("footerKey" -> "footer-2", "columnKeys" -> "pii-2: name"))
    assertEquals(ids(load(path, required, reader)), range(40))
  }

  test("a rotation vouches for no other file") {
    val path = table()
    val other = otherFile()
    val first = files(path).head
    val original = Files.readAllBytes(first)
    AlteredFile.replace(first, Files.readAllBytes(other))
    kept(path, SnapshotMismatch, "the file was replaced by another one")(
      rotate(path, "footer" -> "footer-2")()
    )
    AlteredFile.replace(first, original)
    copy(other, Paths.get(path).resolve(other.getFileName))
    kept(path, SnapshotMismatch, "the file was added")(rotate(path, "footer" -> "footer-2")())
  }

  // Encryption in place.

  private def inPlace(path: String, read: (String, String)*) =
    TableCopies.encryptInPlace(spark, path, read.toMap.asJava, footer.asJava)

  private def sealedPlaintext(): Unit = {
    numbers().write.parquet(target)
    seal(options = footer + ("plaintextFiles" -> "allow"))
    ()
  }

  test("encryption in place keeps a table sealed") {
    sealedPlaintext()
    inPlace(target)
    assertEquals((versions(), requiredIds()), (Seq(1L, 2L), range(20)))
    delete(files().head)
    refused(SnapshotMismatch, "is missing")(idsOf())
  }

  test("encryption in place vouches for no other bytes, and for no encrypted file that storage put there") {
    sealedPlaintext()
    val file = files().head
    val (original, time) = (Files.readAllBytes(file), Files.getLastModifiedTime(file))
    AlteredFile.flip(file, 20)
    Files.setLastModifiedTime(file, time)
    kept(target, SnapshotMismatch, "its bytes are not those that were sealed")(inPlace(target))
    AlteredFile.replace(file, Files.readAllBytes(otherFile()))
    kept(target, SnapshotMismatch, "replaced")(inPlace(target))
    AlteredFile.replace(file, original)
    // The file has another time than the sealed one, so it is opened, which needs what reading it needs.
    kept(target, PlaintextFile, "plaintextFiles=allow")(inPlace(target))
    inPlace(target, "plaintextFiles" -> "allow")
    assertEquals(requiredIds(), range(20))
  }
}
