package io.pmeparquet.spark.snapshot

import java.nio.file.{Files, Path, Paths}

import scala.collection.JavaConverters._
import scala.util.{Failure, Random, Success, Try}

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.streaming.Trigger

import io.pmeparquet.{BlockDigests, PmeException}
import io.pmeparquet.spark.{AlteredFile, SealedSuite}
import io.pmeparquet.spark.admin.{Rotation, RotationSettings, TableCopies, Verification, WatchedKms}
import io.pmeparquet.spark.admin.migration.OrcMigration
import io.pmeparquet.spark.keys.HolderKms
import io.pmeparquet.Condition.{BadOption, SnapshotMismatch, SnapshotNotAuthentic, Unsupported}

/** Sealed tables of ORC files: nothing in a file authenticates its content, so reads compare it with the snapshot. */
class SealedOrcSuite extends SealedSuite {
  private val owner = HolderKms.options("pii", "sign:signer")
  private val signing = owner + ("signingKey" -> "signer")
  private val policy = owner ++ Map("columnKeys" -> "pii: name")
  private lazy val reading: Options = {
    val pem = Files.createTempFile(directory.getParent, "signer", ".pem")
    Files.write(pem, HolderKms.pem("signer").getBytes)
    HolderKms.options("pii") + ("verifyKey" -> s"file:$pem")
  }

  // Those of ORC, and no checksums of Hadoop's.
  override protected def files(path: String = target): Seq[Path] =
    allFiles(path)
      .filter(_.getFileName.toString.endsWith(".orc"))
      .filterNot(_.getParent.endsWith("_pme_snapshots"))

  override protected def save(
      frame: DataFrame,
      path: String = target,
      partitions: Seq[String] = Nil,
      options: Options = policy,
      mode: String = "append"
  ): Unit =
    frame.write.format("pme-orc").options(options).mode(mode).partitionBy(partitions: _*).save(path)

  override protected def load(
      path: String = target,
      options: Options = Map.empty,
      session: SparkSession = spark
  ): DataFrame = session.read.format("pme-orc").options(reading ++ options).load(path)

  private def people(first: Long, count: Int = 10, files: Int = 1) =
    numbers(first, count, files).selectExpr("id", "concat('name-', id) AS name", "id * 1.5D AS grade")

  /** Each scan of Spark, by batches and by rows. */
  private val everyScan: Seq[(Options, Map[String, String])] =
    for (scan <- scans; batches <- Seq(true, false))
      yield scan -> Map("spark.sql.orc.enableVectorizedReader" -> batches.toString)
  private val ways = if (isWhole) everyScan else Seq(everyScan.head, everyScan.last)

  private def rowsOf(path: String, options: Options = Map.empty, set: Map[String, String] = Map.empty) = {
    val session = fresh
    set.foreach { case (name, value) => session.conf.set(name, value) }
    rows(load(path, options, session))
  }

  /** A table of two files of several stripes each. */
  private def made(path: String): Unit = {
    Seq(0L, 500L).foreach { first =>
      save(
        people(first, 500),
        path,
        options = policy ++ Map("orc.stripe.row.count" -> "100", "orc.compress" -> "none")
      )
    }
    seal(path, signing, session = fresh)
    ()
  }
  private val table = new Kept(made)

  private def mismatch(path: String, words: String*)(options: Options = Map.empty): Unit =
    for ((scan, set) <- ways) refused(SnapshotMismatch, words: _*)(rowsOf(path, scan ++ options, set))

  /** What everybody reads who ignores the snapshot. */
  private def unsealed(path: String): Seq[String] = rows(
    fresh.read.format("pme-orc").options(HolderKms.options("pii") + ("snapshot" -> "off")).load(path)
  )

  test("a sealed table is read, and misses a removed, an added and a replaced file") {
    val path = table()
    val truth = unsealed(path)
    assertEquals(truth.size, 1000)
    for ((scan, set) <- ways) assertEquals(rowsOf(path, scan ++ required, set), truth, (scan, set))
    val (first, second) = both(path)
    val aside = Files.move(first, directory.resolve("aside"))
    mismatch(path, first.getFileName.toString, "it is missing")()
    Files.move(aside, first)
    copy(first, first.resolveSibling("part-9-planted.orc"))
    mismatch(path, "part-9-planted.orc", "is not in the list")()
    delete(first.resolveSibling("part-9-planted.orc"))
    AlteredFile.replace(first, Files.readAllBytes(second))
    mismatch(path)()
  }

  test("a stream appends to a sealed table, which it signs") {
    val path = table()
    val from = directory.resolve("from").toString
    people(1000).write.parquet(from)
    fresh.readStream
      .schema("id long, name string, grade double")
      .parquet(from)
      .writeStream
      .format("pme-orc")
      .options(policy ++ signing + ("checkpointLocation" -> directory.resolve("c").toString))
      .trigger(Trigger.AvailableNow())
      .start(path)
      .awaitTermination()
    assertEquals(rowsOf(path, required).size, 1010)
    assertEquals(versions(path), Seq(1L, 2L))
  }

  test("an older version of a file that is put back is a mismatch, though its length is the same") {
    val path = table()
    val file = files(path).head
    val older = Files.readAllBytes(file)
    AlteredFile.flip(file, 100)
    age(file)
    seal(path, signing, session = fresh)
    assertEquals(rowsOf(path).size, 1000)
    AlteredFile.replace(file, older)
    mismatch(path)()
  }

  test("every change of a byte is noticed, and some change values for who ignores the snapshot") {
    val path = table()
    val truth = unsealed(path)
    val random = new Random(11)
    var others = 0
    // In make test some: VerifiedFileSuite changes bytes without Spark.
    (1 to 90 by (if (isWhole) 1 else 13)).foreach { round =>
      val file = files(path)(round % 2)
      val whole = Files.readAllBytes(file)
      // The last third of the changes is in the tail.
      val at = if (round > 60) whole.length - 1 - random.nextInt(700) else random.nextInt(whole.length)
      AlteredFile.replace(file, whole.updated(at, (whole(at) ^ (1 << random.nextInt(8))).toByte))
      val (scan, set) = everyScan(round % everyScan.size)
      refused(SnapshotMismatch, file.getFileName.toString)(rowsOf(path, scan, set))
      Try(unsealed(path)) match {
        case Success(found) => if (found != truth) others += 1
        case Failure(failed) => assert(PmeException.find(failed).isDefined, failed)
      }
      AlteredFile.replace(file, whole)
    }
    assert(others > 0, "no change had an effect without the snapshot")
    for ((scan, set) <- everyScan) assertEquals(rowsOf(path, scan, set), truth)
  }

  test("a change in a block without a tail or a footer is noticed where the block is read") {
    val names = "concat('name-', id, repeat('x', 2000)) AS name"
    val many = numbers(0, 2000, files = 1).selectExpr("id", names, "rand(7) AS grade")
    save(many, options = policy + ("orc.compress" -> "none"))
    seal(target, signing, session = fresh)
    val file = files().head
    val length = Files.size(file)
    assert(length > 3 * BlockDigests.BlockBytes, length)
    for ((scan, set) <- ways) {
      val session = fresh
      set.foreach { case (name, value) => session.conf.set(name, value) }
      def read = load(target, scan, session).selectExpr("sum(id + grade)", "max(name)").collect()
      read
      AlteredFile.flip(file, (length / 2).toInt)
      refused(SnapshotMismatch, file.getFileName.toString)(read)
      AlteredFile.flip(file, (length / 2).toInt)
    }
  }

  test("tasks that read parts of a file compare what they read") {
    val path = table()
    val session = fresh
    session.conf.set("spark.sql.files.maxPartitionBytes", "2000")
    session.conf.set("spark.sql.files.openCostInBytes", "1")
    val frame = load(path, session = session)
    assert(frame.rdd.getNumPartitions > 4, frame.rdd.getNumPartitions)
    assertEquals(rows(frame), unsealed(path))
    AlteredFile.flip(files(path).last, 1000)
    refused(SnapshotMismatch)(rows(frame))
  }

  test("filters, counts and aggregates are answered by what was compared") {
    val path = table()
    def answers(options: Options) = {
      val session = fresh
      session.conf.set("spark.sql.orc.aggregatePushdown", "true")
      val frame = load(path, options, session)
      (frame.count(), frame.selectExpr("max(id)").head().getLong(0), frame.where("name = 'name-777'").count())
    }
    for (scan <- scans) assertEquals(answers(scan), (1000L, 999L, 1L), scan)
    AlteredFile.flip(files(path).head, -40)
    for (scan <- scans) refused(SnapshotMismatch)(answers(scan))
  }

  test("a schema is that of compared files") {
    val path = table()
    for (merge <- Seq("false", "true"); scan <- scans)
      assertEquals(
        load(path, scan + ("mergeSchema" -> merge), fresh).columns.toSeq,
        Seq("id", "name", "grade")
      )
    files(path).foreach(AlteredFile.change(_) { bytes =>
      new String(bytes, "ISO-8859-1").replace("grade", "gredo").getBytes("ISO-8859-1")
    })
    for (merge <- Seq("false", "true"); scan <- scans)
      refused(SnapshotMismatch)(load(path, scan + ("mergeSchema" -> merge), fresh).schema)
  }

  test("a schema of files of several tables is of compared files of each") {
    val paths = Seq("first", "second").map(name => directory.resolve(name).toString)
    for ((path, at) <- paths.zipWithIndex) {
      save(
        people(0).withColumnRenamed("grade", s"grade$at"),
        path,
        options = policy + ("orc.compress" -> "none")
      )
      seal(path, signing, session = fresh)
    }
    def columns(spelled: String) = fresh.read
      .format("pme-orc")
      .options(reading + (spelled -> "true"))
      .load(paths: _*)
      .columns
      .toSeq
    val merged = Seq("id", "name", "grade0", "grade1")
    for (spelled <- Seq("mergeSchema", "MERGESCHEMA")) assertEquals(columns(spelled), merged)
    files(paths.last).foreach(AlteredFile.change(_) { bytes =>
      new String(bytes, "ISO-8859-1").replace("grade1", "gredo1").getBytes("ISO-8859-1")
    })
    for (spelled <- Seq("mergeSchema", "MERGESCHEMA")) refused(SnapshotMismatch, paths.last)(columns(spelled))
  }

  test("only a signature seals ORC files, and readers need its public key") {
    save(people(0))
    refused(BadOption, "signingKey")(seal(target, owner, session = fresh))
    seal(target, signing, session = fresh)
    refused(SnapshotNotAuthentic, "verifyKey")(
      rows(fresh.read.format("pme-orc").options(HolderKms.options("pii")).load(target))
    )
    assertEquals(rowsOf(target).size, 10)
    delete(snapshotsOf())
    refused(SnapshotMismatch, "verifyKey")(rowsOf(target))
  }

  test("a write to a sealed table seals exactly what it wrote, and continues the history") {
    save(people(0), options = policy ++ signing + ("snapshot" -> "update"))
    save(people(10), options = policy ++ signing)
    assertEquals(rowsOf(target, Map("minSnapshot" -> "2")).size, 20)
    save(people(20), options = policy ++ signing, mode = "overwrite")
    assertEquals(rowsOf(target, Map("minSnapshot" -> "3")).size, 10)
    AlteredFile.flip(files().head, 100)
    refused(SnapshotMismatch)(save(people(30), options = policy ++ signing))
    refused(BadOption, "signingKey")(save(people(30), options = policy ++ reading))
    assertEquals(versions(), Seq(1L, 2L, 3L))
  }

  test("a dynamic overwrite of partitions keeps the table sealed") {
    val frame = people(0, 20).selectExpr("*", "id % 2 AS day")
    save(frame, partitions = Seq("day"), options = policy ++ signing + ("snapshot" -> "update"))
    val dynamic = Map("partitionOverwriteMode" -> "dynamic")
    save(
      frame.where("day = 1").limit(3),
      partitions = Seq("day"),
      options = policy ++ signing ++ dynamic,
      mode = "overwrite"
    )
    assertEquals(rowsOf(target).size, 13)
    assertEquals(load(session = fresh).where("day = 1").count(), 3L)
  }

  test("a table has files of one format, which its snapshot states") {
    save(people(0))
    seal(target, signing, session = fresh)
    val parquet = signing ++ Map("footerKey" -> "pii")
    def append(mode: String) = people(10).write.format("pme-parquet").options(parquet).mode(mode).save(target)
    for (mode <- Seq("append", "overwrite"))
      refused(Unsupported, "Parquet files", "ORC files")(append(mode))
    refused(SnapshotMismatch, "ORC")(
      fresh.read.format("pme-parquet").options(reading).schema("id long").load(target).collect()
    )
    val other = directory.resolve("parquet").toString
    people(0).write.format("pme-parquet").options(parquet).save(other)
    seal(other, signing, session = fresh)
    refused(SnapshotMismatch, "Parquet")(
      fresh.read.format("pme-orc").options(reading).schema("id long").load(other).collect()
    )
    refused(Unsupported, "ORC files")(save(people(10), other, options = policy ++ signing))
    copy(allFiles(other).filter(_.toString.endsWith(".parquet")).head, Paths.get(target, "part-7.parquet"))
    refused(Unsupported, "ORC and Parquet")(seal(target, signing, session = fresh))
  }

  test("an index of ORC files is refused") {
    save(people(0))
    refused(Unsupported, "index")(seal(target, signing, minMax("id"), fresh))
  }

  test("a rotation of a sealed table is refused before anything changes, and so is its dry run") {
    val path = table()
    val before = allFiles(path).map(file => file -> Files.readAllBytes(file).toSeq).toMap
    val places = Seq(path, files(path).head.toString)
    for (place <- places; dryRun <- Seq(true, false)) {
      val settings = RotationSettings(masterKeys = Some(Map("pii" -> "signer")), dryRun = dryRun)
      refused(Unsupported, "ORC files", "sealed")(Rotation.rotate(fresh, place, signing, settings).collect())
      assertEquals(allFiles(path).map(file => file -> Files.readAllBytes(file).toSeq).toMap, before)
    }
  }

  test("a migration of a catalog's table takes each partition value from the snapshot, and nothing else") {
    val write = owner ++ Map("footerKey" -> "pii", "columnKeys" -> "pii: name")
    save(people(0, 20).selectExpr("*", "CAST(id % 2 AS INT) AS day"), partitions = Seq("day"))
    seal(target, signing, session = fresh)
    val other = directory.resolve("other").toString
    save(people(90).selectExpr("*", "1 AS day"), other, partitions = Seq("day"))
    val session = fresh
    def table(name: String, days: (Int, String)*): Unit = {
      session.sql(
        s"CREATE TABLE $name (id BIGINT, name STRING, grade DOUBLE, day INT) USING `pme-orc` " +
          s"PARTITIONED BY (day) LOCATION '$target'"
      )
      days.foreach { case (day, place) =>
        session.sql(s"ALTER TABLE $name ADD PARTITION (day = $day) LOCATION '$place'")
      }
    }
    def migrate(name: String) =
      OrcMigration.migrate(session, name, directory.resolve(s"to-$name").toString, reading, write)
    val names = Seq("right", "swapped", "more", "elsewhere").map(name => s"migrated_$name")
    try {
      table(names(0), 0 -> s"$target/day=0", 1 -> s"$target/day=1")
      assertEquals(migrate(names(0)).rows, 20L)
      table(names(1), 1 -> s"$target/day=0", 0 -> s"$target/day=1")
      refused(SnapshotMismatch, "'day'")(migrate(names(1)))
      table(names(2), 0 -> s"$target/day=0", 1 -> s"$target/day=1", 2 -> s"$other/day=1")
      refused(SnapshotMismatch, other)(migrate(names(2)))
      table(names(3), 1 -> s"$other/day=1")
      refused(SnapshotMismatch)(migrate(names(3)))
      names.tail.foreach(name => assert(!Files.exists(directory.resolve(s"to-$name")), name))
    } finally names.foreach(name => session.sql(s"DROP TABLE IF EXISTS $name"))
  }

  test("a copy with new keys has what the snapshot lists, though a file changes after it was compared") {
    val path = table()
    def rekey(to: String) = {
      val write = WatchedKms.options + ("columnKeys" -> "pii: name")
      TableCopies.rekey(fresh, path, directory.resolve(to).toString, reading.asJava, write.asJava)
    }
    // Of suites before this one.
    WatchedKms.reset()
    assertEquals(rekey("copy").rows, 1000L)
    WatchedKms.reset()
    val file = files(path).head
    WatchedKms.meanwhile = _ => {
      WatchedKms.meanwhile = _ => ()
      AlteredFile.flip(file, 40)
    }
    try refused(SnapshotMismatch, file.getFileName.toString)(rekey("copy-2"))
    finally WatchedKms.reset()
    assert(!Files.exists(directory.resolve("copy-2")))
    // Below a directory that is no table, tables are found, too.
    val above = directory.resolve("above")
    FileUtils.copyDirectory(Paths.get(path).toFile, above.resolve("one").toFile)
    val write = WatchedKms.options + ("columnKeys" -> "pii: name")
    refused(SnapshotMismatch)(
      TableCopies
        .rekey(fresh, above.toString, directory.resolve("copy-3").toString, reading.asJava, write.asJava)
    )
  }

  test("verify compares whole files and the list") {
    val path = table()
    def found =
      Verification.verify(fresh, path, reading).findings.collect().map(_.getAs[String]("condition")).toSeq
    assertEquals(found, Nil)
    AlteredFile.flip(files(path).head, 500)
    assert(found.contains(SnapshotMismatch.name), found)
    delete(files(path).head)
    assert(found.contains(SnapshotMismatch.name), found)
  }

  test("a stream reads a sealed table, and notices a change") {
    val path = table()
    def stream = fresh.readStream.format("pme-orc").options(reading).schema("id long").load(path)
    assertEquals(drained(stream, None), range(1000))
    AlteredFile.flip(files(path).head, 500)
    refused(SnapshotMismatch)(drained(stream, None))
  }

  test("Spark's own orc with our key provider compares, too") {
    val path = table()
    val own = reading + ("orc.key.provider" -> "pme")
    def read = rows(fresh.read.format("orc").options(own).load(path))
    assertEquals(read, unsealed(path))
    AlteredFile.flip(files(path).head, 500)
    refused(SnapshotMismatch)(read)
  }

  test("names of files in a query are those of the table") {
    val path = table()
    val named =
      load(path, session = fresh).selectExpr("input_file_name() AS f", "_metadata.file_path AS p")
    val found = named
      .collect()
      .map(row => (Paths.get(row.getString(0)).getFileName, Paths.get(row.getString(1)).getFileName))
    assertEquals(found.map(_._1).toSet, files(path).map(_.getFileName).toSet)
    assertEquals(found.map(_._2).toSet, files(path).map(_.getFileName).toSet)
  }

  test("a migration compares a sealed table, and copies what it compared") {
    val path = table()
    val to = directory.resolve("migrated").toString
    val write = owner ++ Map("footerKey" -> "pii", "columnKeys" -> "pii: name")
    def migrate() = OrcMigration.migrate(fresh, path, to, reading, write)
    val file = files(path).head
    val whole = Files.readAllBytes(file)
    AlteredFile.flip(file, 500)
    refused(SnapshotMismatch)(migrate())
    AlteredFile.replace(file, whole)
    val aside = Files.move(file, directory.resolve("aside"))
    refused(SnapshotMismatch, "missing")(migrate())
    Files.move(aside, file)
    assertEquals(migrate().rows, 1000L)
  }
}
