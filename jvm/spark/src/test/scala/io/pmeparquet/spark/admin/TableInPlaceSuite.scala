package io.pmeparquet.spark.admin

import java.nio.file.{Files, Path}
import java.nio.file.attribute.{FileTime, PosixFilePermissions}

import scala.collection.JavaConverters._

import io.pmeparquet.spark.AlteredFile.bytes
import io.pmeparquet.spark.Refusals
import io.pmeparquet.Condition
import io.pmeparquet.Condition.{
  BadOption,
  DamagedFile,
  NoKey,
  NotAuthentic,
  PlaintextFile,
  UnknownColumn,
  Unsupported
}
import io.pmeparquet.PmeException

/** A plaintext table is encrypted in place: nothing is lost, and another run continues an interrupted one. */
class TableInPlaceSuite extends PlainTableSuite {
  private val manifest = ".pme-encrypting/manifest.json"
  private val external = Map("uniformKey" -> "footer", "keyMaterial" -> "external")

  private def inPlace(
      path: Any,
      write: Map[String, String] = ofPii,
      read: Map[String, String] = Map.empty
  ): EncryptedInPlace =
    TableCopies.encryptInPlace(spark, path.toString, read.asJava, (watched ++ write).asJava)

  /** Fails unless every file is encrypted. */
  private def whole(path: Any, write: Map[String, String] = ofPii): EncryptedInPlace = {
    val done = inPlace(path, write)
    assertEquals(done.failed.asScala.map(_.message).toSeq, Nil)
    done
  }

  /** Fails unless exactly this file fails, so. */
  private def fails(file: Path, condition: Condition, words: String*)(done: EncryptedInPlace): Unit = {
    assertEquals(done.failed.asScala.map(_.file.split('/').last).toSeq, Seq(file.getFileName.toString))
    val failed = done.failed.get(0)
    assertEquals(failed.condition, condition.name, failed.message)
    words.foreach(word => assert(failed.message.contains(word), failed.message))
    assertEquals(Refusals.check(failed.message), None)
  }

  /** Alters a byte, by default of a plaintext page, whose checksum then fails; returns what repairs it. */
  private def spoil(file: Path, at: Int = 60): () => Unit = {
    val before = Files.readAllBytes(file)
    io.pmeparquet.spark.AlteredFile.flip(file, at)
    () => { Files.write(file, before); () }
  }

  /** The files that a run left. */
  private def hidden(): Seq[String] =
    allFiles("plain")
      .filter(file => s"${directory.relativize(file)}".contains("pme-"))
      .map(_.getFileName.toString)

  for ((way, options) <- ways)
    test(s"files are encrypted in place, and decrypted they are what they were: $way") {
      val table = plain()
      val (before, expected) = (within(table), rows(halves))
      val kept =
        files("plain").map(file => Files.copy(file, directory.resolve(s"was-${file.getParent.getFileName}")))
      val done = whole(table, options)
      assertEquals((done.made.files, done.already, done.made.rows), (2L, 0L, 40L))
      assertEquals(within(table), before)
      assertEquals(read(table, ctr), expected)
      assertEquals(readable("plain", "canary-"), Nil)
      assertEquals(hidden(), Nil)
      assertEquals(
        files("plain").filter(file => Files.exists(file.resolveSibling(s".${file.getFileName}.crc"))),
        Nil
      )
      val again = decrypt(table, s"$directory/back", ctr)
      assertEquals((again.files, again.rows, again.pages), (done.made.files, done.made.rows, done.made.pages))
      assertEquals(rows(spark.read.parquet(s"$directory/back")), rows(halves))
      kept.zip(files("back")).foreach { case (was, is) => same(was, is) }
    }

  test("encrypted files are verified and do not change") {
    val table = plain()
    whole(table)
    val second = untouched("plain")(whole(table))
    assertEquals((second.made.files, second.already), (0L, 2L))
    val file = files("plain").head
    // In the first page's header, after the magic bytes, a length and a nonce.
    spoil(file, at = 4 + 4 + 12 + 2)
    fails(file, NotAuthentic, file.getFileName.toString)(inPlace(table))
  }

  test("a damaged file fails, the others are encrypted, and the next run finishes") {
    val table = plain()
    val bad = files("plain").head
    val repair = spoil(bad)
    val first = inPlace(table)
    fails(bad, DamagedFile)(first)
    assertEquals((first.made.files, first.already), (1L, 0L))
    assert(Files.exists(table.resolve(manifest)))
    repair()
    // Some files stay plaintext until the run is finished.
    assertEquals(read(table, "plaintextFiles" -> "allow"), rows(halves))
    refused(PlaintextFile, bad.getFileName.toString)(read(table))
    val done = whole(table)
    assertEquals((done.made.files, done.already), (1L, 1L))
    assertEquals(read(table), rows(halves))
    assertEquals(hidden(), Nil)
  }

  test("a file that does not open does not stop the others") {
    val table = plain()
    val bad = files("plain").head
    io.pmeparquet.spark.AlteredFile.replace(bad, bytes("no file of Parquet"))
    val done = inPlace(table)
    fails(bad, DamagedFile, bad.getFileName.toString)(done)
    assertEquals(done.made.files, 1L)
  }

  test("a symbolic link is not replaced") {
    val table = plain()
    val file = files("plain").head
    val elsewhere = Files.move(file, directory.resolve("elsewhere.parquet"))
    Files.createSymbolicLink(file, elsewhere)
    val before = Files.readAllBytes(elsewhere).toSeq
    val done = inPlace(table)
    assertEquals(done.failed.asScala.map(one => one.message.contains("symbolic link")).toSeq, Seq(true))
    assertEquals(done.made.files, 1L)
    assert(Files.isSymbolicLink(file))
    assertEquals(Files.readAllBytes(elsewhere).toSeq, before)
  }

  test("leftovers of a killed run are removed") {
    val table = plain()
    val left = table.resolve(".pme-encrypting/0815/4711/part.parquet")
    Files.createDirectories(left.getParent)
    Files.write(left, bytes("half a file"))
    whole(table)
    assertEquals(hidden(), Nil)
  }

  test("a single file is encrypted") {
    val table = plain()
    assertEquals(whole(files("plain").head).made.files, 1L)
    assertEquals(hidden(), Nil)
    assertEquals(read(table, "plaintextFiles" -> "allow"), rows(halves))
    assertEquals(whole(table).made.files, 1L)
  }

  for (stored <- Seq("true", "false"))
    test(s"an AAD prefix names the table, also of a run that continues: stored $stored") {
      val table = plain()
      val named = "aadPrefix" -> "{path}/{file}"
      val settings = Map("uniformKey" -> "k", named, "storeAadPrefix" -> stored)
      val bad = files("plain").head
      val repair = spoil(bad)
      fails(bad, DamagedFile)(inPlace(table, settings))
      repair()
      assertEquals(whole(table, settings).already, 1L)
      assertEquals(read(table, named), rows(halves))
    }

  test("files keep their permissions, and their key material has the same") {
    val table = plain()
    val mode = PosixFilePermissions.fromString("rw-r-----")
    files("plain").foreach(Files.setPosixFilePermissions(_, mode))
    whole(table, external)
    val made = files("plain") ++ files("plain").map(materialOf)
    assertEquals(made.map(Files.getPosixFilePermissions(_)).toSet, Set(mode))
  }

  // ---- meanwhile

  test("a file written again after it was listed does not change") {
    val table = plain()
    val victim = files("plain").head
    val before = Files.readAllBytes(victim).toSeq
    WatchedKms.meanwhile =
      call => if (call.startsWith("wrap")) Files.setLastModifiedTime(victim, FileTime.fromMillis(0))
    fails(victim, Unsupported, "changed while this ran", victim.getFileName.toString)(
      inPlace(table, Map("uniformKey" -> "footer"))
    )
    assertEquals(Files.readAllBytes(victim).toSeq, before)
    WatchedKms.meanwhile = _ => ()
    assertEquals(whole(table, Map("uniformKey" -> "footer")).made.files, 1L)
  }

  test("a file that is added meanwhile is reported, and the next run encrypts it") {
    val table = plain()
    val known = files("plain").head
    val (added, content) = (known.resolveSibling("added.parquet"), Files.readAllBytes(known))
    WatchedKms.meanwhile =
      call => if (call.startsWith("wrap") && !Files.exists(added)) Files.write(added, content)
    fails(added, Unsupported, "added after the files were listed")(inPlace(table))
    assertEquals(hidden(), Seq("manifest.json"))
    WatchedKms.meanwhile = _ => ()
    val done = whole(table)
    assertEquals((done.made.files, done.already), (1L, 2L))
    assertEquals(hidden(), Nil)
  }

  test("a frame made before the run still reads") {
    val table = plain()
    val frame = load(table.toString, Map("plaintextFiles" -> "allow"))
    whole(table)
    assertEquals(rows(frame.select("ssn", "salary", "id", "half")), rows(halves))
  }

  for (byReader <- Seq("pages", "spark"))
    test(s"splits planned before the run are read completely or refused: $byReader") {
      val many = Map(
        "parquet.block.size" -> "2000",
        "parquet.page.size" -> "100",
        "parquet.page.row.count.limit" -> "10"
      )
      val frame = spark.range(0, 2000, 1, 1).selectExpr("id", "concat('name-', id) AS name")
      frame.write.options(many).parquet(s"$directory/plain")
      val file = files("plain").head
      val options = watched + ("reader" -> byReader)
      def read(more: Map[String, String]) =
        reader(options ++ more).schema(frame.schema).load(s"$directory/plain")
      val allowing = Map("plaintextFiles" -> "allow")
      val (wholeFile, split, strict) = (read(allowing), read(allowing), read(Map.empty))
      // Spark lists the files now.
      Seq(wholeFile, split, strict).foreach(_.inputFiles)
      whole(s"$directory/plain", Map("uniformKey" -> "footer"))
      def inParts[A](run: => A): A = {
        set(
          Map(
            "spark.sql.files.maxPartitionBytes" -> (Files.size(file) / 5).toString,
            "spark.sql.files.openCostInBytes" -> "1"
          )
        )
        try run
        finally
          Seq("maxPartitionBytes", "openCostInBytes")
            .foreach(name => spark.conf.unset(s"spark.sql.files.$name"))
      }
      inParts(refused(Unsupported, "after this query was planned", "REFRESH TABLE")(split.collect()))
      if (byReader == "pages") {
        inParts(assertEquals(rows(strict), rows(frame)))
        assertEquals(rows(wholeFile), rows(frame))
      } else
        // Spark's own reader uses the old length, which may reach as far as the last row group needs.
        scala.util.Try(rows(wholeFile)) match {
          case scala.util.Success(found) => assertEquals(found, rows(frame))
          case scala.util.Failure(failed) =>
            refused(Unsupported, "after this query was planned")(throw failed)
        }
    }

  for (gone <- Seq("mark", "files"))
    test(s"a run that another run overtakes changes nothing: its $gone are gone") {
      val table = plain()
      val place = table.resolve(manifest).getParent
      val others = place.resolve("other/running")
      val before = files("plain").map(Files.readAllBytes(_).toSeq)
      WatchedKms.meanwhile = call =>
        if (call.startsWith("unwrap")) synchronized {
          Files.createDirectories(others.getParent)
          if (!Files.exists(others)) Files.createFile(others)
          for (
            own <- place.toFile.listFiles.toSeq.map(_.toPath.resolve("running"))
            if own != others && Files.exists(own)
          )
            // The mark goes first, as where a run removes another one.
            for (file <- own +: (if (gone == "mark") Nil else allFiles(own.getParent.toString)))
              Files.deleteIfExists(file)
        }
      // Spark may retry no task: all files fail, or the run does.
      val failed =
        try
          inPlace(table, Map("uniformKey" -> "footer")).failed.asScala
            .map(one => one.condition -> one.message)
        catch { case whole: PmeException => Seq(whole.getCondition() -> whole.getMessage) }
      assert(failed.nonEmpty)
      for ((condition, message) <- failed) {
        assertEquals(condition, Unsupported.name, message)
        assert(message.contains("another one has begun"), message)
      }
      assertEquals(files("plain").map(Files.readAllBytes(_).toSeq), before)
      assertEquals(hidden().sorted, Seq("manifest.json", "running"))
      assert(Files.exists(others))
    }

  // ---- refusals

  private def plainBy(write: Map[String, String]): Any = inPlace(directory.resolve("plain"), write)

  private def refusedWhole(
      condition: Condition,
      words: String*
  )(encrypting: => Any): Unit =
    untouched("plain") {
      refused(condition, words: _*)(encrypting)
      ()
    }

  test("what cannot work is refused before anything is written") {
    plain()
    refusedWhole(UnknownColumn, "'snn'")(plainBy(Map("footerKey" -> "footer", "columnKeys" -> "pii: snn")))
    refusedWhole(Unsupported, "'half'")(plainBy(Map("footerKey" -> "footer", "columnKeys" -> "pii: h*")))
    refusedWhole(NoKey, "footerKey")(plainBy(Map.empty))
    for (
      (name, option) <- Seq(
        "algorithm" -> "algorithm",
        "FOOTERKEY" -> "footerKey",
        "aadPrefix" -> "aadPrefix",
        "kms" -> "kms"
      )
    )
      untouched("plain")(refused(BadOption, s"option $option: ", "would be written with it") {
        inPlace(directory.resolve("plain"), ofPii, Map(name -> "AES_GCM_CTR_V1"))
      })
  }

  /** Begins an encryption that cannot finish, because a file is damaged, which is then repaired. */
  private def begun(table: Path): Path = {
    val bad = files("plain").head
    val repair = spoil(bad)
    fails(bad, DamagedFile)(inPlace(table))
    repair()
    bad
  }

  test("other settings are refused until the run is finished, and afterwards") {
    val table = plain()
    begun(table)
    val other = Map("footerKey" -> "footer", "columnKeys" -> "pii: salary")
    refusedWhole(Unsupported, "pii: salary", "pii: ssn", manifest, "rekey")(plainBy(other))
    whole(table)
    untouched("plain") {
      val failed = inPlace(table, other).failed.asScala
      assertEquals(failed.map(_.condition).toSeq, Seq.fill(2)(Unsupported.name))
      assert(failed.forall(_.message.contains("'ssn' has key 'pii' instead of the footer's key")), failed)
    }
  }

  test("a run on a part does not finish a run on the whole table") {
    val table = plain()
    val part = begun(table).getParent
    refusedWhole(Unsupported, s"$table'", s"$part'")(inPlace(part, ofPii))
    whole(table)
    assertEquals(hidden(), Nil)
  }

  test("an unreadable manifest is refused") {
    val table = plain()
    Files.createDirectory(table.resolve(manifest).getParent)
    Files.write(table.resolve(manifest), bytes("{"))
    refusedWhole(Unsupported, manifest, "delete it")(plainBy(ofPii))
  }

  for ((log, remedy) <- Seq("_delta_log" -> "commit of the table", "_spark_metadata" -> "Encrypt to a copy"))
    test(s"files whose lengths $log records are refused") {
      Files.createDirectory(plain().resolve(log))
      refusedWhole(Unsupported, log, remedy)(plainBy(ofPii))
    }

  for (place <- Seq(".", "half=0"))
    test(s"a plaintext summary file is refused: in $place") {
      Files.write(plain().resolve(place).resolve("_metadata"), bytes("PAR1"))
      refusedWhole(Unsupported, "_metadata", "Delete it")(plainBy(ofPii))
    }

  for (
    mark <- Seq(".pme-rotating-0123", manifest); place <- Seq("..", ".", "half=0")
    if place != "." || mark != manifest
  )
    test(s"a run begun at, above or below the table is detected: $place/$mark") {
      val path = plain().resolve(place).normalize().resolve(mark)
      Files.createDirectories(path.getParent)
      Files.createFile(path)
      refusedWhole(
        Unsupported,
        mark.takeWhile(_ != '/') +: (if (place == ".") Nil else Seq("has not ended")): _*
      )(plainBy(ofPii))
    }

  for (place <- Seq(".", "..", "half=0"))
    test(s"a table under encryption in place is not rotated: $place") {
      val path = plain().resolve(place).normalize().resolve(manifest)
      Files.createDirectories(path.getParent)
      untouched("plain")(refused(Unsupported, ".pme-encrypting", "has not ended") {
        Rotation.reports(
          spark,
          s"$directory/plain",
          watched,
          RotationSettings(masterKeys = Some(Map("footer" -> "k")))
        )
      })
    }

  for (
    name <- Seq(
      "_temporary/0/part-0.parquet",
      ".hive-staging_1/part-0",
      "_old.parquet",
      "part-0.parquet._COPYING_"
    )
  )
    test(s"plaintext that readers ignore is refused: $name") {
      val left = plain().resolve("half=0").resolve(name)
      Files.createDirectories(left.getParent)
      Files.write(left, bytes("rows"))
      refusedWhole(Unsupported, left.getFileName.toString, "readers ignore")(plainBy(ofPii))
    }

  for (plant <- Seq("directory", "manifest", "dangling"))
    test(s"links where a run keeps files lead nowhere: $plant") {
      val table = plain()
      val elsewhere = Files.createDirectory(directory.resolve("elsewhere"))
      Files.write(elsewhere.resolve("file"), bytes("precious"))
      // A run removes directories that an earlier one left.
      Files.write(Files.createDirectory(elsewhere.resolve("inner")).resolve("file"), bytes("precious"))
      val place = if (plant == "directory") table.resolve(manifest).getParent else table.resolve(manifest)
      Files.createDirectories(place.getParent)
      val leadsTo = Map("directory" -> ".", "manifest" -> "file", "dangling" -> "no")(plant)
      Files.createSymbolicLink(place, elsewhere.resolve(leadsTo).normalize())
      untouched("elsewhere")(refused(Unsupported, place.getFileName.toString, "link")(inPlace(table)))
      assert(Files.isSymbolicLink(place))
      Files.delete(place)
      whole(table)
      assertEquals(hidden(), Nil)
    }

  test("files behind a linked directory are not encrypted") {
    val table = plain()
    val other = Files.move(table.resolve("half=0"), directory.resolve("other"))
    Files.createSymbolicLink(table.resolve("half=0"), other)
    untouched("other")(refusedWhole(Unsupported, "half=0", "symbolic link")(plainBy(ofPii)))
  }
}
