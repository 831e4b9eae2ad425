package io.pmeparquet.spark.admin

import java.nio.file.{Files, Path}

import scala.collection.JavaConverters._

import org.apache.spark.sql.streaming.Trigger

import io.pmeparquet.spark.AlteredFile
import io.pmeparquet.spark.AlteredFile.bytes
import io.pmeparquet.Condition.{AadPrefix, BadOption, DamagedFile, KeyNotFound, NoKey, NotAuthentic}
import io.pmeparquet.Condition.{PlaintextFile, UnknownColumn, UnknownOption, Unsupported}

/** A copied table has the requested files, directories and keys, and appears whole or not at all. */
class TableCopiesSuite extends PlainTableSuite {
  private val uniform = Map("uniformKey" -> "new")

  /** An encrypted table of two files. */
  private def source(more: (String, String)*): Path = {
    write(people.repartition(2), watched + ("uniformKey" -> "old") ++ more, s"$directory/source")
    directory.resolve("source")
  }

  for ((way, options) <- ways)
    test(s"encrypting and decrypting restores the table: $way") {
      val table = plain()
      val before = allFiles("plain").map(Files.readAllBytes(_).toSeq)
      val done = copy(table, s"$directory/encrypted", options)
      assertEquals(read(s"$directory/encrypted", ctr), rows(halves))
      val again = decrypt(s"$directory/encrypted", s"$directory/back", ctr)
      assertEquals((again.files, again.rows, again.pages), (done.files, done.rows, done.pages))
      assertEquals((done.files, done.rows), (2L, 40L))
      assertEquals(Seq("encrypted", "back").map(within(_)).distinct, Seq(within("plain")))
      assertEquals(rows(spark.read.parquet(s"$directory/back")), rows(spark.read.parquet(table.toString)))
      files("plain").zip(files("back")).foreach { case (was, is) => same(was, is) }
      assertEquals(readable("plain", "canary-"), Seq("canary-"))
      assertEquals(readable("encrypted", "canary-"), Nil)
      // The source stays as it is.
      assertEquals(allFiles("plain").map(Files.readAllBytes(_).toSeq), before)
    }

  test("directories and names of files stay, and so do names that URIs escape") {
    val odd = spark.sql(
      "SELECT * FROM VALUES (1, 'a b'), (2, 'x:y'), (3, '50%'), (4, 'ü'), (5, 'a/b'), (6, 'n=v'), (7, NULL) AS t(id, odd)"
    )
    val (from, to) = (s"$directory/the source 100%", s"$directory/the target 100%")
    odd
      .selectExpr("id", "id % 2 AS half", "odd")
      .write
      .format("pme-parquet")
      .options(watched + ("uniformKey" -> "old"))
      .partitionBy("half", "odd")
      .save(from)
    rekey(from, to, uniform)
    assertEquals(within(to), within(from))
    assertEquals(rows(load(to).select("id", "odd")), rows(odd))
    assertEquals(names(), Seq("the source 100%", "the target 100%"))
  }

  test("a single file is copied") {
    source()
    val file = files("source").head
    rekey(file, target, uniform)
    assertEquals(rows(load()), rows(load(file.toString)))
    assertEquals(within("table"), Seq(file.getFileName.toString))
  }

  test("a copy is not read with the old keys") {
    val table = source()
    rekey(table, target, uniform)
    WatchedKms.lacks = Set("old")
    assertEquals(rows(load()), rows(people))
    WatchedKms.lacks = Set("new")
    refused(KeyNotFound, "'new'")(load().collect())
  }

  test("a column that only some files have gets its key") {
    write(people.drop("ssn").coalesce(1), watched + ("uniformKey" -> "old"), s"$directory/source/part=1")
    write(people.coalesce(1), watched + ("uniformKey" -> "old"), s"$directory/source/part=2")
    rekey(s"$directory/source", target, ofPii + ("unlistedColumns" -> "plaintext"))
    val merged = Map("mergeSchema" -> "true")
    assertEquals(rows(load(more = merged)), rows(load(s"$directory/source", merged)))
    assertEquals(load(more = merged).where("ssn IS NOT NULL").count(), 40L)
    assertEquals(readable("table", "canary-"), Nil)
    // A column that may be readable if the key's column exists is encrypted, like all others, if it does not exist.
    val kinds =
      KeyUsage.of(spark, target, watched).where("kind = 'plaintext column'").select("files", "columns")
    assertEquals(kinds.collect().map(_.toString).toSeq.size, 1)
    assertEquals(kinds.head().getLong(0), 1L)
    assertEquals(kinds.head().getSeq[String](1), Seq("id", "salary"))
  }

  for (prefix <- Seq("{path}", "{table}/{file}", "fixed"); stored <- Seq("true", "false"))
    test(s"an AAD prefix names the place of the copy: $prefix, stored: $stored") {
      write(people.coalesce(1), watched + ("uniformKey" -> "old"), s"$directory/source/day=1")
      val named = "aadPrefix" -> prefix
      rekey(s"$directory/source", target, uniform ++ Map(named, "storeAadPrefix" -> stored))
      assertEquals(rows(load(more = Map(named)).drop("day")), rows(people))
      val moved = Files.move(directory.resolve("table"), directory.resolve("moved")).toString
      if (prefix == "fixed") assertEquals(load(moved, Map(named)).count(), 40L)
      else
        refused(if (stored == "true") AadPrefix else NotAuthentic)(load(moved, Map(named)).collect())
    }

  test("a source with an AAD prefix is read with it, and nothing is copied or decrypted under another") {
    val table = source("aadPrefix" -> "{path}", "storeAadPrefix" -> "false")
    refused(AadPrefix)(rekey(table, target, uniform))
    refused(AadPrefix)(decrypt(table, target))
    refused(NotAuthentic)(decrypt(table, target, "aadPrefix" -> "x"))
    assertEquals(names(), Seq("source"))
    rekey(table, target, uniform, "aadPrefix" -> "{path}")
    assertEquals(rows(load()), rows(people))
    write(people, watched ++ uniform + ("aadPrefix" -> "y"), s"$directory/stored")
    // The copy has no prefix.
    for (from <- Seq(s"$directory/stored", target))
      refused(AadPrefix)(decrypt(from, s"$directory/other", "aadPrefix" -> "x"))
    assertEquals(names(), Seq("source", "stored", "table"))
  }

  test("what cannot work is refused before anything is written") {
    plain()
    copy(directory.resolve("plain"), s"$directory/source", Map("uniformKey" -> "old"))
    Seq(
      (
        UnknownColumn,
        Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn, snn"),
        Map.empty[String, String],
        Seq("'snn'", "salary")
      ),
      (
        Unsupported,
        Map("footerKey" -> "footer", "columnKeys" -> "pii: h*"),
        Map.empty[String, String],
        Seq("'half'")
      ),
      (UnknownColumn, ofPii + ("unlistedColumns" -> "error"), Map.empty[String, String], Seq("salary")),
      (NoKey, Map.empty[String, String], Map.empty[String, String], Nil),
      (UnknownOption, uniform, Map("footrKey" -> "x"), Seq("footerKey"))
    ).foreach { case (condition, write, read, words) =>
      refused(condition, words: _*)(rekey(s"$directory/source", target, write, read.toSeq: _*))
      assertEquals(names(), Seq("plain", "source"))
    }
    refused(BadOption, target) {
      TableCopies.decrypt(spark, s"$directory/source", target, watched.asJava, writePlaintext = false)
    }
    WatchedKms.lacks = Set("old")
    refused(KeyNotFound, "'old'")(decrypt(s"$directory/source", target))
    assertEquals(names(), Seq("plain", "source"))
  }

  test("a target that holds something stays as it is, and an empty directory is filled") {
    val table = source()
    Files.createDirectory(directory.resolve("table"))
    rekey(table, target, uniform)
    assertEquals(rows(load()), rows(people))
    untouched(".") {
      for (place <- Seq(target, table.toString, s"$table/below", files().head.toString))
        refused(BadOption, place)(rekey(table, place, uniform))
    }
  }

  for (broken <- Seq(0, 1))
    test(s"a bad file prevents the copy: number $broken") {
      val table = source()
      val file = files("source")(broken)
      AlteredFile.flipInModule(file, 3)
      refused(NotAuthentic, file.getFileName.toString)(rekey(table, target, uniform))
      settle()
      assertEquals(names(), Seq("source"))
    }

  /** A failed job ends before its other tasks do. */
  private def settle(): Unit = {
    val end = System.nanoTime + 60L * 1000 * 1000 * 1000
    def isBusy = names().exists(_.startsWith("."))
    while (isBusy && System.nanoTime < end) Thread.sleep(10)
  }

  test("for each key of the source there is one call, and two for each of the copy") {
    write(people.repartition(4), watched ++ protection, s"$directory/source")
    for (isDouble <- Seq(true, false)) {
      WatchedKms.calls.clear()
      val to = s"$target-$isDouble"
      val write =
        Map("footerKey" -> "f", "columnKeys" -> "b: salary, ssn", "doubleWrapping" -> isDouble.toString)
      val done = rekey(s"$directory/source", to, write)
      assertEquals((done.files, done.rows), (4L, 40L))
      val ofSource = old.map(_ -> 1).toMap
      if (isDouble) {
        assertEquals(WatchedKms.count("wrap"), Map("f" -> 1, "b" -> 1))
        assertEquals(WatchedKms.count("unwrap"), ofSource ++ Map("f" -> 1, "b" -> 1))
      } else {
        // Each data key is wrapped separately: in each file one of the footer, and one of each column with a key.
        assertEquals(WatchedKms.count("unwrap"), ofSource ++ Map("f" -> 4, "b" -> 8))
        assertEquals(WatchedKms.count("wrap"), Map("f" -> 5, "b" -> 9))
      }
      assertEquals(rows(load(to)), rows(people))
    }
  }

  test("for an unreadable source no new key is wrapped") {
    val table = source()
    AlteredFile.change(files("source").head)(_.dropRight(1))
    WatchedKms.calls.clear()
    refused(DamagedFile)(rekey(table, target, uniform))
    assertEquals(WatchedKms.count("wrap"), Map.empty[String, Int])
  }

  for (log <- Seq("_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"))
    test(s"a table that another tool manages is not copied: $log") {
      val table = plain()
      Files.createDirectory(table.resolve(log).getParent)
      Files.createFile(table.resolve(log))
      val file = files("plain").head
      for (from <- Seq(table, file.getParent, file))
        refused(Unsupported, log.takeWhile(_ != '/'), "the tools of its table format")(
          copy(from, target, ofPii)
        )
      assert(!Files.exists(directory.resolve("table")))
    }

  for (partitions <- Seq(Nil, Seq("half")))
    test(s"the copy of a streaming sink has the files that its log lists: partitions $partitions") {
      val table = plain().toString
      val sink = s"$directory/sink"
      val stream = spark.readStream.schema(spark.read.parquet(table).schema).parquet(table).writeStream
      stream
        .format("parquet")
        .partitionBy(partitions: _*)
        .option("checkpointLocation", s"$directory/log")
        .trigger(Trigger.AvailableNow())
        .start(sink)
        .awaitTermination()
      val listed = files("sink")
      // The rest of a failed batch is not part of the table.
      Files.copy(listed.head, listed.head.resolveSibling("orphan.parquet"))
      val done = copy(sink, target, ofPii)
      assertEquals((done.files, done.rows), (listed.size.toLong, 40L))
      assertEquals(read(target), rows(halves))
      assert(!within("table").exists(_.endsWith("orphan.parquet")))
    }

  test("files that are encrypted already are encrypted again, whatever the options say of plaintext") {
    val table = plain()
    halves.write
      .format("pme-parquet")
      .options(watched + ("uniformKey" -> "other"))
      .mode("append")
      .partitionBy("half")
      .save(table.toString)
    refused(PlaintextFile)(rekey(table, target, ofPii))
    copy(table, target, ofPii, "plaintextfiles" -> "error")
    assertEquals(read(target), (rows(halves) ++ rows(halves)).sorted)
    WatchedKms.lacks = Set("other")
    assertEquals(read(target).size, 80)
  }

  test("a directory that looks like staging stays as it is") {
    val table = plain()
    val like = Seq(
      ".table.pme-rekey",
      ".table.pme-rekey-notes",
      s".table.pme-rekey-${"0" * 8}-1111-2222-3333-${"4" * 12}"
    )
    for (name <- like) {
      Files.createDirectories(directory.resolve(name).resolve("running"))
      Files.write(directory.resolve(name).resolve("file"), bytes("precious"))
    }
    copy(table, target, ofPii)
    assertEquals(names(), (like ++ Seq("plain", "table")).sorted)
    for (name <- like)
      assertEquals(new String(Files.readAllBytes(directory.resolve(name).resolve("file"))), "precious")
  }

  test("a target that is a link is refused") {
    val table = plain()
    val elsewhere = Files.createDirectory(directory.resolve("elsewhere"))
    Files.createDirectory(elsewhere.resolve("empty"))
    for (leadsTo <- Seq("empty", "not-there")) {
      val link = Files.createSymbolicLink(directory.resolve(s"link-$leadsTo"), elsewhere.resolve(leadsTo))
      untouched("elsewhere")(refused(BadOption, "symbolic link")(copy(table, link, ofPii)))
      assert(Files.isSymbolicLink(link))
      assertEquals(names(elsewhere), Seq("empty"))
    }
  }

  test("indexes and Bloom filters of the copy skip the same rows") {
    val indexed = Map(
      "parquet.page.row.count.limit" -> "100",
      "parquet.bloom.filter.enabled#name" -> "true",
      "parquet.enable.dictionary" -> "false"
    )
    val frame =
      spark.range(0, 5000, 1, 1).selectExpr("id", "concat('name-', sha2(CAST(id AS STRING), 256)) AS name")
    write(frame, watched ++ indexed + ("uniformKey" -> "old"), s"$directory/source")
    rekey(s"$directory/source", target, uniform)
    def scanned(where: String) = {
      val query = load().where(where).select(where.takeWhile(_ != ' '))
      query.collect()
      val leaves = query.queryExecution.executedPlan.collect {
        case leaf if leaf.metrics.contains("numOutputRows") && leaf.children.isEmpty => leaf
      }
      leaves.map(_.metrics("numOutputRows").value).sum
    }
    set(Map("spark.sql.adaptive.enabled" -> "false"))
    assertEquals(scanned("id IN (17, 4321)"), 200L)
    assertEquals(scanned("id > 5000"), 0L)
    assertEquals(scanned("name = 'name-5-not-there'"), 0L)
  }
}
