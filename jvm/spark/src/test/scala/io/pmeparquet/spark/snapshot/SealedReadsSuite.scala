package io.pmeparquet.spark.snapshot

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.{AlteredFile, SealedSuite}
import io.pmeparquet.spark.admin.{Rotation, RotationSettings}
import io.pmeparquet.Condition.{
  BadOption,
  SnapshotDamaged,
  SnapshotMismatch,
  SnapshotNotAuthentic,
  Unsupported
}

/** A table with a snapshot is read as the snapshot lists it, or not at all; whatever else says which files there are. */
class SealedReadsSuite extends SealedSuite {
  private val everyone = range(20)
  private val table = new Kept(sealedTable(numbers(), _))
  private val partitioned = new Kept(sealedTable(byCountry(), _, Seq("country")))

  private def options(pairs: (String, String)*): Options = pairs.toMap

  /** Each read by itself, of a session that remembers nothing, is refused. */
  private def mismatch(path: String, words: String*)(reads: Options*): Unit =
    reads.foreach(read => refused(SnapshotMismatch, words: _*)(idsOf(path, read)))

  test("a schema of files of several sealed tables is of compared files of each") {
    val paths = Seq("first", "second").map(name => directory.resolve(name).toString)
    paths.foreach(sealedTable(numbers(files = 1), _))
    def columns = fresh.read
      .format("pme-parquet")
      .options(kms + ("mergeSchema" -> "true"))
      .load(paths: _*)
      .columns
      .toSeq
    assertEquals(columns, Seq("id"))
    val other =
      plant(numbers(files = 1).withColumnRenamed("id", "other"), directory.resolve("third").toString)
    AlteredFile.replace(files(paths.last).head, Files.readAllBytes(other.head))
    refused(SnapshotMismatch, paths.last)(columns)
  }

  test("each reader reads a sealed table, and misses a removed, an added and a replaced file") {
    val path = table()
    val (first, second) = both(path)
    for (how <- everyReader) assertEquals(idsOf(path, how ++ required), everyone, how)
    val aside = Files.move(first, directory.resolve("aside"))
    mismatch(path, first.getFileName.toString, "it is missing")(readers: _*)
    Files.move(aside, first)
    val planted = plant(numbers(20, 5, files = 1), path)
    mismatch(path, planted.head.getFileName.toString, "is not in the list", "seal the table again")(
      otherReaders: _*
    )
    for (how <- readers) assertEquals(idsOf(path, how + ("snapshot" -> "off")), range(25), how)
    assertEquals(seal(path).opened, 1L)
    for (how <- otherReaders) assertEquals(idsOf(path, how), range(25), how)
    AlteredFile.replace(first, Files.readAllBytes(second))
    mismatch(path)(everyReader: _*)
  }

  /** A table of one file, and the bytes of another file of the same length and keys. */
  private lazy val twin = {
    val made = Files.createTempDirectory(directory.getParent, "twin")
    val plain = footer + ("compression" -> "none")
    save(numbers(500, 20, files = 1), made.resolve("other").toString, options = plain)
    Files.readAllBytes(files(made.resolve("other").toString).head)
  }
  private val single =
    new Kept(sealedTable(numbers(files = 1), _, options = footer + ("compression" -> "none")))

  test("a replaced file is a mismatch whatever it is, and one that is put back is read again") {
    val path = single()
    val file = files(path).head
    val (own, time) = (Files.readAllBytes(file), Files.getLastModifiedTime(file))
    assertEquals(twin.length, own.length)
    def put(content: Array[Byte]): Unit = {
      AlteredFile.replace(file, content)
      Files.setLastModifiedTime(file, time)
      ()
    }
    for (how <- readers) {
      val session = fresh
      put(twin)
      // A read without the snapshot opens the other file, and remembers it by its length and time.
      assertEquals(ids(load(path, how + ("snapshot" -> "off"), session)), (500L until 520L), how)
      refused(SnapshotMismatch, "another footer")(ids(load(path, how, session)))
      put(own)
      assertEquals(ids(load(path, how, session)), everyone, how)
    }
    for (
      ((changed, word), at) <- Seq[(Array[Byte], String)](
        own.take(0) -> "0 bytes long",
        own.dropRight(20) -> "bytes long",
        own ++ "PAR1".getBytes -> "bytes long",
        Array.fill(own.length)('x'.toByte) -> "another footer",
        own.dropRight(4) ++ "PAR1".getBytes -> "another footer"
      ).zipWithIndex
    ) {
      AlteredFile.replace(file, changed)
      for (
        (read, more) <- Seq(path, s"$path/*.parquet").zipWithIndex; (scan, turn) <- scans.zipWithIndex
        if isWhole || (at + more) % 2 == turn
      ) mismatch(read, word)(scan)
    }
  }

  test("a pattern of paths, or of names or times, does not hide a file that was removed") {
    val path = partitioned()
    val (first, others) = (files(path).head.toString, files(path).tail.map(_.toString))
    val base = Map("basePath" -> path)
    val patterns = Seq[(Seq[String], Options)](
      (Seq(s"$path/country=*/*.parquet"), base),
      (Seq(s"$path/country=*"), base),
      (Seq(path), base + ("pathGlobFilter" -> "*.parquet")),
      (Seq(path), base + ("modifiedAfter" -> "2020-01-01T00:00:00")),
      (others, base)
    )
    def read(paths: Seq[String], more: Options) =
      ids(fresh.read.format("pme-parquet").options(kms ++ more).load(paths: _*))
    for ((scan, turn) <- scans.zipWithIndex; ((paths, more), at) <- patterns.init.zipWithIndex)
      if (isWhole || at % 2 == turn) assertEquals(read(paths, more ++ scan), everyone)
    assertEquals(read(others, base).size, 13)
    delete(Paths.get(first))
    // In turn: each pattern with each scan, and each of these with what else a read may need.
    for (
      (scan, turn) <- scans.zipWithIndex; ((paths, more), at) <- patterns.zipWithIndex;
      (needed, asked) <- Seq(options(), required, options("minSnapshot" -> "1")).zipWithIndex
      if isWhole || (at + asked) % 3 == turn
    ) refused(SnapshotMismatch, "is missing")(read(paths, more ++ scan ++ needed))
  }

  test("a pattern of files in one directory misses a hidden one, and shows a planted one") {
    val path = table()
    val (first, second) = both(path)
    for (scan <- scans) {
      assertEquals(idsOf(s"$path/*.parquet", scan), everyone)
      assert(idsOf(first.toString, scan).size < 20)
    }
    val hidden = first.resolveSibling("_hidden")
    Files.move(first, hidden)
    mismatch(s"$path/*.parquet", first.getFileName.toString, "is missing")(scans: _*)
    Files.move(hidden, first)
    copy(second, second.resolveSibling("planted.parquet"))
    mismatch(s"$path/pl*.parquet", "planted.parquet", "not in the list")(scans: _*)
  }

  test("a recursive read from above finds the sealed table") {
    val path = sealedTable(numbers(), directory.resolve("above/table").toString)
    // The parts of the snapshot are there, too, and Spark does not look into directories that begin with an underscore.
    val recursive = options("recursiveFileLookup" -> "true", "pathGlobFilter" -> "*.parquet")
    val above = Paths.get(path).getParent.toString
    assertEquals(idsOf(above, recursive), everyone)
    copy(files(path).head, Paths.get(path, "planted.parquet"))
    mismatch(above, "planted.parquet")(recursive)
  }

  test("a partition or a file is read by the snapshot of its table") {
    val path = partitioned()
    val french = s"$path/country=fr"
    assertEquals(idsOf(french).size, 7)
    assertEquals(idsOf(files(french).head.toString).size, 7)
    // A directory of snapshots of the partition's own hides nothing.
    Files.createDirectory(Paths.get(french, "_pme_snapshots"))
    plant(byCountry(20, 9), path, Seq("country"))
    mismatch(french, "is not in the list")(options())
    delete(Paths.get(french, "_pme_snapshots"))
    mismatch(french, "is not in the list")(options())
  }

  test("a removed partition is missed, by a read of the table and by a pattern") {
    val path = partitioned()
    delete(Paths.get(path, "country=fr"))
    for (read <- Seq(path, s"$path/country=*")) mismatch(read, "country=fr", "it is missing")(scans: _*)
  }

  test("a path that a reader names twice is read twice") {
    val path = table()
    assertEquals(
      ids(spark.read.format("pme-parquet").options(kms).load(path, path)),
      (everyone ++ everyone).sorted
    )
  }

  // What storage alone can write, and Spark takes for a listing.

  private def plantLog(path: String, uris: Seq[String]): Unit = {
    val sizes = files(path).map(file => file.toUri.toString -> Files.size(file)).toMap
    val entries = uris.map { uri =>
      s"""{"path":"$uri","size":${sizes(
          uri.takeWhile(!"#?".contains(_))
        )},"isDir":false,"modificationTime":0,""" +
        """"blockReplication":1,"blockSize":1,"action":"add"}"""
    }
    val log = Files.createDirectories(Paths.get(path, "_spark_metadata")).resolve("0")
    Files.write(log, ("v1" +: entries).mkString("\n").getBytes)
    ()
  }

  test("a planted log of a stream hides no file, and lists none twice or under another name") {
    val path = table()
    val uris = files(path).map(_.toUri.toString)
    plantLog(path, uris)
    for (scan <- scans) assertEquals(idsOf(path, scan), everyone)
    plantLog(path, uris :+ uris.head)
    mismatch(path, "listed twice")(scans: _*)
    for (suffix <- Seq("#1", "?1")) {
      plantLog(path, uris :+ (uris.head + suffix))
      mismatch(path, "another name")(scans: _*)
    }
    plantLog(path, uris.tail)
    val filters = Seq(
      options(),
      options("pathGlobFilter" -> "*"),
      options("modifiedBefore" -> "2099-01-01T00:00:00")
    )
    mismatch(path, "_spark_metadata")((for (scan <- scans; one <- filters) yield scan ++ one): _*)
    refused(SnapshotMismatch)(drained(path))
  }

  test("a directory that looks like a partition hides no file, and changes no partition column") {
    val path = table()
    val planted = Files.createDirectory(Paths.get(path, "x=1")).resolve("old.txt")
    Files.write(planted, "not a data file".getBytes)
    age(planted)
    mismatch(path, "x=1")(scans: _*)
    val filters = Seq("pathGlobFilter" -> "*.parquet", "modifiedAfter" -> "2020-01-01T00:00:00")
    mismatch(path, path)((for (scan <- scans; filter <- filters) yield scan + filter): _*)
    val byParity = sealedTable(numbers(files = 1).selectExpr("id", "id % 2 AS p"), partitions = Seq("p"))
    val onlyData = scans.map(_ + ("pathGlobFilter" -> "*.parquet"))
    onlyData.foreach(read => assertEquals(idsOf(byParity, read), everyone))
    Files.write(
      Files.createDirectory(Paths.get(byParity, "p=text")).resolve("planted.txt"),
      Array.emptyByteArray
    )
    mismatch(byParity, "p=text")(onlyData: _*)
  }

  test("a modification time neither hides nor shows a file") {
    val path = table()
    val after = "modifiedAfter" -> "2020-01-01T00:00:00"
    scans.foreach(scan => assertEquals(idsOf(path, scan + after), everyone))
    age(files(path).head)
    val times = Seq(after, "modifiedBefore" -> "2020-01-01T00:00:00")
    mismatch(path, "modification time")((for (scan <- scans; time <- times) yield scan + time): _*)
    scans.foreach(scan => assertEquals(idsOf(path, scan), everyone))
  }

  test("a query is not answered from the names of directories, nor from footers alone") {
    val path = partitioned()
    copy(Paths.get(path, "country=de"), Paths.get(path, "country=zz"))
    set(Map("spark.sql.optimizer.metadataOnly" -> "true", "spark.sql.parquet.aggregatePushdown" -> "true"))
    for (query <- Seq("DISTINCT country", "max(country)"))
      refused(SnapshotMismatch, "country=zz") {
        load(path).createOrReplaceTempView("attacked")
        spark.sql(s"SELECT $query FROM attacked").collect()
      }
    val other = table()
    val maximum = load(other, Map("scan" -> "v2"))
    assertEquals(maximum.selectExpr("max(id)").head().getLong(0), 19L)
    delete(files(other).head)
    for (scan <- scans) refused(SnapshotMismatch)(load(other, scan).selectExpr("max(id)").head())
  }

  // What changes while a session or a frame knows the table.

  test("an existing frame notices that its table was sealed again, and does not skip a file that is gone") {
    val path = table()
    val frame = load(path)
    assertEquals(frame.count(), 20L)
    plant(numbers(20, 5, files = 1), path)
    seal(path)
    refused(SnapshotMismatch, "was added after this table was loaded")(frame.count())
    val ignoring = Map("ignoreMissingFiles" -> "true")
    set(Map("spark.sql.files.ignoreMissingFiles" -> "true"))
    val whole = table()
    val later = load(whole, ignoring, fresh)
    assertEquals(later.count(), 20L)
    delete(files(whole).head)
    val failed = intercept[Exception](later.collect())
    val all = Iterator.iterate[Throwable](failed)(_.getCause).takeWhile(_ != null).mkString
    assert("FileNotFound|FILE_NOT_EXIST|FILE_NOT_FOUND|does not exist".r.findFirstIn(all).isDefined, all)
  }

  test("a frame from before a rotation says to load the table again") {
    for (scan <- scans) {
      val (path, session) = (table(), fresh)
      val old = load(path, scan, session)
      Rotation.rotate(session, path, kms, RotationSettings(None, Some(Map("footer" -> "footer-2"))))
      val text = refused(Unsupported, "Load the table again")(old.collect())
      assert(!text.contains("seal the table"), text)
      assertEquals(load(path, scan, session).count(), 20L)
    }
  }

  test("a session refuses a version older than one it has read, and a missing snapshot") {
    val path = table()
    copy(Paths.get(path), directory.resolve("first"))
    plant(numbers(20, 5, files = 1), path)
    seal(path)
    assertEquals(ids(load(path)).size, 25)
    delete(Paths.get(path))
    copy(directory.resolve("first"), Paths.get(path))
    refused(SnapshotNotAuthentic, "it is version 1, and this session has read version 2")(ids(load(path)))
    assertEquals(idsOf(path), everyone)
    refused(SnapshotNotAuthentic, "minSnapshot=2")(idsOf(path, options("minSnapshot" -> "2")))
    refused(SnapshotNotAuthentic, "minSnapshot=2")(seal(path, kms + ("minSnapshot" -> "2"), session = fresh))
    delete(snapshotsOf(path))
    refused(SnapshotNotAuthentic, "this session has read version 2")(ids(load(path)))
    assertEquals(ids(load(path, options("snapshot" -> "off"))), everyone)
    refused(SnapshotNotAuthentic, "this session has read version 2")(seal(path))
    val other = fresh
    assertEquals(seal(path, session = other).version, 1L)
    assertEquals(ids(load(path, session = other)), everyone)
  }

  test("a session follows versions that continue the one it knows, and no others") {
    val path = table()
    assertEquals(ids(load(path)), everyone)
    copy(Paths.get(path), directory.resolve("first"))
    val other = fresh
    (1 to 3).foreach(_ => seal(path, session = other))
    assertEquals(ids(load(path)), everyone)
    // The table goes back to its first version, and somebody who does not know that seals it more often.
    delete(Paths.get(path))
    copy(directory.resolve("first"), Paths.get(path))
    val unknowing = fresh
    (2 to 6).foreach(version => assertEquals(seal(path, session = unknowing).version, version.toLong))
    refused(SnapshotNotAuthentic, "it does not continue version 4")(ids(load(path)))
  }

  test("a version that a reader chooses is of the history that its session knows") {
    val path = table()
    val knowing = fresh
    assertEquals(ids(load(path, session = knowing)), everyone)
    delete(Paths.get(path))
    sealedTable(numbers(500, 20), path)
    refused(SnapshotNotAuthentic, "history")(ids(load(path, options("snapshot" -> "1"), knowing)))
    assertEquals(idsOf(path, options("snapshot" -> "1")).size, 20)
  }

  // Which snapshots a read accepts.

  test("a table without a snapshot is read unless one is required") {
    save(numbers())
    assertEquals(idsOf(), everyone)
    for (needed <- Seq(required, options("minSnapshot" -> "1")))
      refused(SnapshotMismatch, "the table has no snapshot", needed.head._1)(idsOf(target, needed))
  }

  test("a version is chosen by its number and its digest") {
    val path = table()
    val digest = seal(path, session = fresh).digest
    val later = plant(numbers(20, 5, files = 1), path)
    seal(path, session = fresh)
    refused(SnapshotMismatch, "is not in the list")(idsOf(path, options("snapshot" -> "2")))
    later.foreach(delete)
    for (choice <- Seq("1", "2", digest, digest.take(12)))
      assertEquals(idsOf(path, options("snapshot" -> choice)), everyone)
    refused(SnapshotMismatch, "version 4 is not there")(idsOf(path, options("snapshot" -> "4")))
    refused(BadOption, "snapshot")(idsOf(path, options("snapshot" -> "newest")))
  }

  test("a table at another place, and one whose snapshot lies elsewhere") {
    val path = table()
    val moved = directory.resolve("moved")
    copy(Paths.get(path), moved)
    refused(SnapshotNotAuthentic, "it was made for the table at")(idsOf(moved.toString))
    val lists = options("snapshotLocation" -> directory.resolve("lists").toString)
    save(numbers())
    seal(target, kms ++ lists)
    assert(!Files.exists(snapshotsOf()))
    assertEquals(idsOf(target, lists ++ required), everyone)
    delete(files().head)
    mismatch(target, "it is missing")(lists)
  }

  test("an altered or cut manifest, an altered list and another footer key are refused") {
    val path = table()
    val manifest = manifestOf(1, path)
    val content = Files.readAllBytes(manifest)
    AlteredFile.replace(
      manifest,
      new String(content, "UTF-8").replace("\"rows\":20", "\"rows\":21").getBytes("UTF-8")
    )
    refused(SnapshotNotAuthentic, "its HMAC does not match")(idsOf(path))
    AlteredFile.replace(manifest, content.dropRight(1))
    refused(SnapshotDamaged)(idsOf(path))
    AlteredFile.replace(manifest, content)
    assertEquals(idsOf(path, options("footerKey" -> "footer")), everyone)
    refused(SnapshotNotAuthentic, "its HMAC is under master key 'footer'", "'pii'") {
      load(path, options("footerKey" -> "pii"), fresh).count()
    }
    AlteredFile.flip(parts(path).head, Files.size(parts(path).head).toInt / 2)
    refused(SnapshotNotAuthentic, "another digest")(idsOf(path))
  }

  test("a view of SQL reads by the snapshot") {
    val path = table()
    spark.sql(
      s"CREATE TEMP VIEW viewed USING `pme-parquet` OPTIONS (path '$path', kms '${kms("kms")}')"
    )
    assertEquals(spark.sql("SELECT * FROM viewed").count(), 20L)
    plant(numbers(20, 5, files = 1), path)
    spark.catalog.refreshTable("viewed")
    refused(SnapshotMismatch, "is not in the list")(spark.sql("SELECT count(*) FROM viewed").head())
  }

  test("a session that ignores snapshots does not stop what a read requires") {
    val path = table()
    val key = s"file:${directory.resolve("signer.pem")}"
    refused(BadOption, "snapshot and verifyKey")(
      ids(load(path, options("snapshot" -> "off", "verifyKey" -> key)))
    )
    setOptions(options("verifyKey" -> key))
    // A read's own option, which a log names.
    assertEquals(ids(load(path, options("snapshot" -> "off"))), everyone)
    setOptions(options("snapshot" -> "off"))
    refused(BadOption, "verifyKey")(ids(load(path)))
    spark.conf.unset("spark.datasource.pme-parquet.verifyKey")
    for (needed <- Seq(options("verifyKey" -> key), options("minSnapshot" -> "9")))
      refused(BadOption, "snapshot=off", needed.head._1)(ids(load(path, needed)))
    assertEquals(ids(load(path)), everyone)
    refused(SnapshotNotAuthentic, "minSnapshot=9")(ids(load(path, required + ("minSnapshot" -> "9"))))
  }

  // Pins.

  private def append(path: String, start: Long, session: SparkSession = fresh): Unit =
    session
      .range(start, start + 20, 1, 1)
      .write
      .format("pme-parquet")
      .options(footer)
      .mode("append")
      .save(path)

  test("a pin accepts later versions of the same table, and no other history or older version") {
    save(numbers())
    val first = seal(target, session = fresh)
    val pin = s"${first.table}:1"
    def pinned(pin: String) = idsOf(target, options("minSnapshot" -> pin))
    refused(SnapshotNotAuthentic, "it is version 1")(pinned(s"${first.table}:2"))
    append(target, 20)
    for (one <- Seq(pin, first.digest, first.digest.take(12), "1")) assertEquals(pinned(one), range(40))
    for (wrong <- Seq("0", "latest", "1:2", "00000000-0000-0000-0000-000000000000:0", "abcdef"))
      refused(BadOption, "minSnapshot")(pinned(wrong))
    delete(Paths.get(target))
    sealedTable(numbers())
    append(target, 100)
    // A number alone says less.
    assertEquals(pinned("2").size, 40)
    refused(SnapshotNotAuthentic, "it is of the table with id", "minSnapshot=")(pinned(pin))
    refused(SnapshotNotAuthentic, "no version before it has this digest")(pinned(first.digest.take(12)))
  }

  test("a link in place of a table needs a pin") {
    save(numbers())
    val own = seal(target, session = fresh)
    val elsewhere = s"$target-other"
    save(numbers(), elsewhere)
    val other = seal(elsewhere, session = fresh)
    delete(Paths.get(target))
    Files.createSymbolicLink(Paths.get(target), Paths.get(elsewhere))
    for (scan <- scans) {
      refused(SnapshotNotAuthentic, "is a link", s"${other.table}:1")(idsOf(target, scan))
      refused(SnapshotNotAuthentic, "it is of the table with id") {
        idsOf(target, scan + ("minSnapshot" -> s"${own.table}:1"))
      }
      assertEquals(idsOf(target, scan + ("minSnapshot" -> s"${other.table}:1")), everyone)
    }
  }

  // Streams.

  test("a stream reads a sealed table, and what is sealed while it waits") {
    val path = table()
    val checkpoint = Some(directory.resolve("c"))
    assertEquals(drained(path, checkpoint = checkpoint), everyone)
    val planted = plant(numbers(20, 5, files = 1), path).head
    for (how <- Seq(options(), options("maxFilesPerTrigger" -> "1")))
      refused(SnapshotMismatch)(drained(path, how, session = fresh))
    refused(SnapshotMismatch)(drained(path, checkpoint = checkpoint))
    assertEquals(drained(path, options("snapshot" -> "off", "maxFilesPerTrigger" -> "1")), range(25))
    seal(path)
    // A file that looks old would be left out.
    val time = Files.getLastModifiedTime(planted)
    age(planted)
    refused(SnapshotMismatch)(drained(path, checkpoint = checkpoint))
    Files.setLastModifiedTime(planted, time)
    assertEquals(drained(path, checkpoint = checkpoint), (20L until 25L))
    assertEquals(drained(path, required), range(25))
  }

  test("a stream misses files that were removed, and knows the versions that its session knows") {
    val path = table()
    val checkpoint = Some(directory.resolve("c"))
    assertEquals(drained(s"$path/*.parquet", required, checkpoint), everyone)
    copy(Paths.get(path), directory.resolve("kept"))
    for ((file, removed) <- files(path).zipWithIndex) {
      delete(file)
      for (
        (how, asked) <- Seq(options(), required, options("minSnapshot" -> "1")).zipWithIndex;
        (read, turn) <- Seq(path, s"$path/*.parquet").zipWithIndex
        if isWhole || (removed + asked) % 2 == turn
      ) refused(SnapshotMismatch)(drained(read, how, session = fresh))
      // All files that it has read already are gone, too.
      refused(SnapshotMismatch)(drained(s"$path/*.parquet", required, checkpoint, fresh))
    }
    delete(Paths.get(path))
    refused(SnapshotMismatch)(drained(s"$path/*.parquet", required, checkpoint, fresh))
    copy(directory.resolve("kept"), Paths.get(path))
    append(path, 20)
    assertEquals(ids(load(path)), range(40))
    delete(Paths.get(path))
    copy(directory.resolve("kept"), Paths.get(path))
    refused(SnapshotNotAuthentic)(drained(path))
    assertEquals(drained(path, session = fresh), everyone)
  }
}
