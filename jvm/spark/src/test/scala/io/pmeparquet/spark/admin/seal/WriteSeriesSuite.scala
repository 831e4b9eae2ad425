package io.pmeparquet.spark.admin.seal

import java.nio.file.{Files, Path, Paths}
import java.nio.file.StandardCopyOption.REPLACE_EXISTING

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.streaming.{DataStreamWriter, Trigger}
import org.apache.spark.sql.Row

import io.pmeparquet.options.NumberedWrite
import io.pmeparquet.parquet.write.WrittenFooter
import io.pmeparquet.snapshot.{SnapshotDirectory, WriteNotes}
import io.pmeparquet.spark.admin.{Rotation, RotationSettings}
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.SealedSuite
import io.pmeparquet.Condition.{BadOption, SnapshotConflict, SnapshotMismatch, UnknownColumn, Unsupported}

/** Writes of a series, and batches of a stream, are in a sealed table once, however often they are repeated. */
class WriteSeriesSuite extends SealedSuite {
  private val update = footer + ("snapshot" -> "update")
  private val table = new Kept(save(numbers(files = 1), _, options = update))

  private def day(number: Any, series: String = "daily"): Options =
    footer ++ Map("writeSeries" -> series, "writeNumber" -> number.toString)

  /** By a driver that knows no version, as after a kill. */
  private def append(start: Long, path: String, options: Options, mode: String = "append"): Unit =
    save(fresh.range(start, start + 20, 1, 1).toDF("id"), path, options = options, mode = mode)

  private def writesOf(path: String): Map[String, Long] = {
    val text = Files.readString(manifestOf(versions(path).last, path))
    val pair = "\"([^\"]+)\":([0-9]+)".r
    """"writes":\{([^}]*)\}""".r
      .findFirstMatchIn(text)
      .fold(Map.empty[String, Long])(found =>
        pair.findAllMatchIn(found.group(1)).map(one => one.group(1) -> one.group(2).toLong).toMap
      )
  }

  private def requiredIds(path: String) = idsOf(path, required)

  private def notes(path: String) = {
    val conf = new Configuration
    new WriteNotes(new SnapshotDirectory(new HadoopPath(path), None, conf), conf)
  }

  /** Notes that an append began long ago. */
  private def note(path: String, series: String, number: Long): Unit =
    notes(path).begin(NumberedWrite(series, number), "killed", Some(1000L * 1000))

  private def noted(path: String): Int =
    Option(snapshotsOf(path).toFile.list).toSeq.flatten.count(_.startsWith(".pme-write-"))

  /** Puts a table back to the version before, as a kill before the seal leaves it. */
  private def unsealed(path: String, series: String, number: Long): Unit = {
    delete(manifestOf(versions(path).last, path))
    note(path, series, number)
  }

  private def setAside(path: String): Seq[String] = {
    val places =
      Option(Paths.get(path).toFile.listFiles).toSeq.flatten.filter(_.getName.startsWith("_pme_set_aside-"))
    places
      .flatMap(place => allFiles(place.toString))
      .map(_.getFileName.toString)
      .filterNot(_.endsWith(".crc"))
  }

  // Writes.

  test("a write that the table has does nothing, and the next one of the series is added") {
    val path = table()
    append(20, path, day(1))
    untouched(path)(append(20, path, day(1)))
    append(40, path, day(7))
    untouched(path)(append(40, path, day(7)))
    assertEquals(requiredIds(path), range(60))
    assertEquals(writesOf(path), Map("daily" -> 7L))
    // Other series have numbers of their own.
    append(60, path, day(1, "other: \"a\""))
    assertEquals(requiredIds(path), range(80))
  }

  test("a write with a smaller number than the last is refused") {
    val path = table()
    append(20, path, day(5))
    untouched(path)(refused(BadOption, "write 4", "daily", "after write 5")(append(40, path, day(4))))
  }

  test("a repeated overwrite, and the first write of a table, do nothing either") {
    for (mode <- Seq("overwrite", "append")) {
      val path = s"$target-$mode"
      append(0, path, day(1) ++ update, mode)
      untouched(path)(append(0, path, day(1) ++ update, mode))
      untouched(path)(append(0, path, day(1), "errorifexists"))
      append(20, path, day(2), mode)
      assertEquals(requiredIds(path), if (mode == "append") range(40) else range(40).drop(20))
    }
  }

  test("other versions of a table keep the numbers of its series") {
    val path = table()
    append(20, path, day(3))
    append(40, path, footer)
    seal(path, session = fresh)
    Rotation.rotate(fresh, path, kms, RotationSettings(masterKeys = Some(Map("footer" -> "pii"))))
    append(60, path, day(4, "other") + ("footerKey" -> "pii"))
    assertEquals(writesOf(path), Map("daily" -> 3L, "other" -> 4L))
    untouched(path)(append(20, path, day(3) + ("footerKey" -> "pii")))
  }

  test("only the write itself numbers it, and only a sealed table has series") {
    val path = table()
    untouched(path) {
      for (one <- Seq("writeSeries", "writeNumber"))
        refused(BadOption, one)(append(20, path, day(1) - one))
      for (wrong <- Seq("-1", "1.5", "x", "", "9223372036854775808"))
        refused(BadOption, "writeNumber")(append(20, path, day(wrong)))
      for (wrong <- Seq("", " ", "x" * 201, "a\nb", "a\ud800"))
        refused(BadOption, "writeSeries")(append(20, path, day(1, wrong)))
      set(Map("spark.datasource.pme-parquet.writeNumber" -> "1"))
      refused(BadOption, "all of their writes but the first") {
        save(numbers(20, files = 1), path, options = day(1) - "writeNumber")
      }
      spark.conf.unset("spark.datasource.pme-parquet.writeNumber")
    }
    refused(BadOption, "not sealed")(append(0, target, day(1)))
    assert(!Files.exists(Paths.get(target)))
  }

  test("a new table does not keep the number of its first write") {
    setOptions(kms)
    val frame = numbers().write.format("pme-parquet").options(day(1) ++ update).option("path", target)
    refused(BadOption, "would keep them")(frame.saveAsTable("numbered_new"))
    assert(!spark.catalog.tableExists("numbered_new"))
    refused(BadOption, "would keep them") {
      spark.sql("CREATE TABLE numbered_new USING `pme-parquet` OPTIONS (writeSeries 'a', writeNumber '1')")
    }
  }

  test("a table's definition numbers no write, also if the session trusts the table") {
    set(kms.map { case (name, value) => s"spark.datasource.pme-parquet.$name" -> value })
    val path = table()
    spark.sql(s"CREATE TABLE numbered USING `pme-parquet` OPTIONS (footerKey 'footer') LOCATION '$path'")
    // Spark asks no format about these.
    spark.sql("ALTER TABLE numbered SET SERDEPROPERTIES ('writeSeries' = 'a', 'writeNumber' = '1')")
    try
      untouched(path) {
        for (trusted <- Seq(None, Some("spark_catalog.default.numbered"))) {
          trusted.foreach(name => set(Map("spark.datasource.pme-parquet.trustedTables" -> name)))
          refused(BadOption, "write")(spark.sql("INSERT INTO numbered VALUES (99)"))
        }
      }
    finally {
      spark.sql("DROP TABLE numbered")
      ()
    }
  }

  test("an append that was killed before its seal is added once, and what it left is moved aside") {
    val path = table()
    append(20, path, day(1))
    val left = files(path).map(_.getFileName.toString).toSet
    unsealed(path, "daily", 1)
    // Tasks of the killed job that had committed: Spark's committer would add their files.
    val staged = Paths.get(
      path,
      "_temporary",
      "0",
      "task_202611300000000000000_0000_m_000000",
      "part-00000-stale.parquet"
    )
    Files.createDirectories(staged.getParent)
    copy(files(path).head, staged)
    refused(SnapshotMismatch, "not in the list")(requiredIds(path))
    refused(SnapshotMismatch, "Repeat the append", ".pme-write-")(
      Sealing.seal(fresh, path, kms, expect = Some("1"))
    )
    // Another write knows nothing of it.
    refused(SnapshotMismatch, "was added")(append(40, path, footer))
    refused(SnapshotMismatch, "was added")(append(40, path, day(2)))
    refused(SnapshotMismatch, "was added")(append(40, path, day(1, "other")))
    append(20, path, day(1))
    assertEquals(requiredIds(path), range(40))
    assertEquals(setAside(path).size, 2)
    assert(setAside(path).forall(name => left(name) || name.endsWith("stale.parquet")), setAside(path))
    val there = files(path).filterNot(_.toString.contains("_pme_set_aside-"))
    assertEquals(there.size, 2)
    // Nothing is left that another kill would go by.
    copy(there.head, Paths.get(path, "planted.parquet"))
    refused(SnapshotMismatch, "planted.parquet")(append(40, path, day(2)))
    assertEquals(noted(path), 0)
    note(path, "daily", 3)
    refused(SnapshotMismatch, "planted.parquet")(append(40, path, day(2)))
  }

  test("a killed append does not excuse a file that is missing or was replaced") {
    for (change <- Seq("missing", "replaced")) {
      val path = table()
      val listed = files(path).head
      append(20, path, day(1))
      unsealed(path, "daily", 1)
      if (change == "missing") delete(listed)
      else {
        delete(listed)
        copy(files(path).filterNot(_ == listed).head, listed)
      }
      refused(SnapshotMismatch, change)(append(20, path, day(1)))
    }
  }

  test("an append that was killed before the first version cannot be repeated over its files") {
    append(0, target, day(1) ++ update)
    delete(manifestOf(1))
    untouched(target) {
      refused(SnapshotMismatch, "earlier attempt", "delete them")(append(0, target, day(1) ++ update))
    }
    files().foreach(delete)
    append(0, target, day(1) ++ update)
    assertEquals(requiredIds(target), range(20))
  }

  test("only files that came after a killed append began are moved aside, with their key material") {
    val planted = table()
    note(planted, "daily", 1)
    copy(files(planted).head, Paths.get(planted, "planted.parquet"))
    age(Paths.get(planted, "planted.parquet"), 10)
    refused(SnapshotMismatch, "planted.parquet", "was added")(append(20, planted, day(1)))
    val path = table()
    append(20, path, day(1) + ("keyMaterial" -> "external"))
    unsealed(path, "daily", 1)
    append(20, path, day(1))
    assertEquals(requiredIds(path), range(40))
    assertEquals(setAside(path).map(_.takeWhile(_ != '-')).sorted, Seq("_KEY_MATERIAL_FOR_part", "part"))
  }

  test("of two attempts of one append, one is sealed, and the files of a sealed one stay") {
    def attempt(path: String) = {
      val job = new SealingJob(ResolvedOptions.ofFrame(fresh, day(1)), path)
      job.prepare(Replaced.Nothing, Some(NumberedWrite("daily", 1)))
      job
    }
    val path = table()
    val (slow, second) = (attempt(path), attempt(path))
    slow.begin()
    second.begin()
    refused(SnapshotConflict, "another attempt")(slow.sealWritten(Map.empty))
    second.sealWritten(Map.empty)
    assertEquals(writesOf(path), Map("daily" -> 1L))
    val other = table()
    val (first, late) = (attempt(other), attempt(other))
    first.begin()
    first.sealWritten(Map.empty)
    untouched(other)(refused(SnapshotConflict)(late.begin()))
  }

  test("an attempt that fails while it takes the place of a killed one changes nothing for the next") {
    val path = table()
    append(20, path, day(1))
    unsealed(path, "daily", 1)
    intercept[Exception](save(numbersThatFail, path, options = day(1)))
    assertEquals(noted(path), 1)
    append(20, path, day(1))
    assertEquals(requiredIds(path), range(40))
    assertEquals(noted(path), 0)
  }

  test("who is late lets go of files that no version lists") {
    val path = table()
    val before = files(path)
    append(20, path, day(1))
    val file = files(path).diff(before).head
    val written = {
      val at = new HadoopPath(file.toString)
      Map(file.getFileName.toString -> WrittenFooter.read(at, new Configuration))
    }
    unsealed(path, "daily", 1)
    delete(snapshotsOf(path).resolve(named(".pme-write-", path)))
    Files.move(file, directory.resolve("late"))
    val job = new SealingJob(ResolvedOptions.ofFrame(fresh, day(1)), path)
    job.prepare(Replaced.Nothing, Some(NumberedWrite("daily", 1)))
    job.begin()
    append(20, path, day(1))
    Files.move(directory.resolve("late"), file)
    refused(SnapshotConflict, "another attempt")(job.sealWritten(written))
    assertEquals(requiredIds(path), range(40))
    assert(setAside(path).contains(file.getFileName.toString))
  }

  private def named(start: String, path: String) =
    snapshotsOf(path).toFile.list.filter(_.startsWith(start)).head

  private def numbersThatFail = {
    val fail = udf { (id: Long) => if (id >= 0) throw new IllegalStateException("planted"); id }
    fresh.range(20, 40, 1, 1).select(fail(col("id")).as("id"))
  }

  test("a write that fails before its tasks notes nothing") {
    val path = table()
    untouched(path) {
      refused(UnknownColumn, "nothing")(append(20, path, day(1) + ("columnKeys" -> "pii: nothing")))
    }
  }

  test("a write whose number somebody else has sealed meanwhile lets go of its files") {
    val path = table()
    val before = files(path)
    append(20, path, day(1))
    val (manifest, file) = (manifestOf(2, path), files(path).diff(before).head)
    val all =
      Seq(manifest, file).map(one => one.toString -> directory.resolve(one.getFileName.toString).toString)
    for ((there, elsewhere) <- all) {
      copy(Paths.get(there), Paths.get(elsewhere))
      delete(Paths.get(there))
    }
    val meanwhile = udf { (id: Long) =>
      for ((there, elsewhere) <- all) Files.copy(Paths.get(elsewhere), Paths.get(there), REPLACE_EXISTING)
      id
    }
    val frame = fresh.range(20, 40, 1, 1).select(meanwhile(col("id")).as("id"))
    refused(SnapshotConflict, "another attempt")(save(frame, path, options = day(1)))
    assertEquals(requiredIds(path), range(40))
  }

  // Streams.

  private val source = new Kept(path => numbers(files = 2).write.parquet(path))

  private def writer(from: String, options: Options, checkpoint: Path): DataStreamWriter[Row] =
    fresh.readStream
      .schema("id long")
      .option("maxFilesPerTrigger", "1")
      .parquet(from)
      .writeStream
      .format("pme-parquet")
      .options(options + ("checkpointLocation" -> checkpoint.toString))
      .trigger(Trigger.AvailableNow())

  private def run(from: String, path: String, options: Options, checkpoint: Path): Unit =
    writer(from, options, checkpoint).start(path).awaitTermination()

  /** A new directory for a checkpoint. */
  private def checkpoint() = Files.createTempDirectory(directory, "c")

  /** Makes a stream repeat its last batch. */
  private def forget(checkpoint: Path): Long = {
    val last = checkpoint.resolve("commits").toFile.list.filter(_.matches("[0-9]+")).map(_.toLong).max
    delete(checkpoint.resolve(s"commits/$last"))
    last
  }

  test("a stream appends to a sealed table, or begins one, and seals each batch") {
    val from = source()
    for ((path, options) <- Seq(table() -> footer, target -> update)) {
      val (place, before) = (checkpoint(), versions(path).size)
      run(from, path, options, place)
      assertEquals(versions(path).size, before + 2)
      assertEquals(requiredIds(path), (range(20) ++ (if (before > 0) range(20) else Nil)).sorted)
      assert(!Files.exists(Paths.get(path, "_spark_metadata")))
      // A batch that is repeated, since the stream was killed before it could note that it was done.
      forget(place)
      untouched(path)(run(from, path, options, place))
      // One that was killed before its seal.
      val series = writesOf(path).keys.head
      unsealed(path, series, forget(place))
      run(from, path, options, place)
      assertEquals(requiredIds(path), (range(20) ++ (if (before > 0) range(20) else Nil)).sorted)
      // Another stream is another series.
      if (isWhole || before > 0) {
        run(from, path, options, checkpoint())
        assertEquals(writesOf(path).size, 2)
      }
    }
  }

  test("a stream writes the partitions of a sealed table") {
    val from = source()
    save(byCountry(), target, Seq("country"), update)
    val frame =
      spark.readStream.schema("id long").parquet(from).selectExpr("id + 100 AS id", "'se' AS country")
    frame.writeStream
      .format("pme-parquet")
      .options(footer + ("checkpointLocation" -> checkpoint().toString))
      .partitionBy("country")
      .trigger(Trigger.AvailableNow())
      .start(target)
      .awaitTermination()
    assertEquals(ids(load(target, required, fresh).where("country = 'se'")), range(120).drop(100))
    assertEquals(requiredIds(target).size, 40)
  }

  test("a stream that a seal cannot take is refused, and leaves nothing") {
    val from = source()
    val path = table()
    untouched(path) {
      refused(BadOption, "each stream is a series")(run(from, path, day(1), checkpoint()))
      refused(Unsupported, "output mode complete") {
        val counts = spark.readStream.schema("id long").parquet(from).groupBy("id").count()
        counts.writeStream.format("pme-parquet").options(footer).outputMode("complete").start(path)
      }
      refused(Unsupported, "snapshot=off")(run(from, path, footer + ("snapshot" -> "off"), checkpoint()))
    }
    val country = s"$target/country=fr"
    save(byCountry(), target, Seq("country"), update)
    untouched(target)(refused(Unsupported, "one partition")(run(from, country, footer, checkpoint())))
  }

  test("a stream that began before the table was sealed does not go on") {
    val from = source()
    val place = checkpoint()
    val query = writer(from, footer, place).trigger(Trigger.ProcessingTime(0)).start(target)
    query.processAllAvailable()
    seal(target, session = fresh)
    numbers(20, files = 1).write.mode("append").parquet(from)
    refused(Unsupported, "began before")(query.processAllAvailable())
    refused(Unsupported, "_spark_metadata")(run(from, target, footer, place))
    assertEquals(files(target).size, 2)
    delete(Paths.get(target, "_spark_metadata"))
    run(from, target, footer, place)
    assertEquals(requiredIds(target), range(40))
  }
}
