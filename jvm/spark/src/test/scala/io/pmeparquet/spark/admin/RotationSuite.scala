package io.pmeparquet.spark.admin

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.nio.file.attribute.{FileTime, PosixFilePermissions}

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.ObjectMapper

import io.pmeparquet.spark.AlteredFile
import io.pmeparquet.spark.AlteredFile.{bytes, TailBytes}
import io.pmeparquet.Condition.{AadPrefix, BadOption, KeyNotFound, NotAuthentic, Unsupported}

/** Rotation of a table's master keys: what readers read afterwards, which bytes are left, and the calls of the KMS. */
class RotationSuite extends WatchedTableSuite {
  private val all = RotationSettings(masterKeys = Some(renewed))
  private def to(names: (String, String)*) = RotationSettings(masterKeys = Some(names.toMap))

  private def rotate(
      settings: RotationSettings = all,
      options: Map[String, String] = watched,
      path: String = target
  ): Seq[FileReport] = Rotation.reports(spark, path, options, settings)

  private def counts(reports: Seq[FileReport]): Map[String, Int] = reports.groupBy(_.status).map {
    case (status, some) => status -> some.size
  }

  private val modes = Seq(
    Seq.empty,
    Seq("keyMaterial" -> "external"),
    Seq("plaintextFooter" -> "true"),
    Seq("keyMaterial" -> "external", "plaintextFooter" -> "true")
  )

  for (mode <- modes)
    test(
      s"all keys get new master keys, and nothing of the old wrapped keys is left: ${mode.mkString(", ")}"
    ) {
      written(mode: _*)
      val (before, wrapped) = (pages(), WatchedKms.wrapped.toList)
      assert(left(wrapped).nonEmpty)
      val done = rotate()
      assertEquals(counts(done), Map("rotated" -> 2))
      assertEquals(done.map(_.masterKeys).distinct, Seq(renewed.values.toSeq.sorted))
      assertEquals(done.flatMap(_.left), Nil)
      assertEquals(pages(), before)
      assertEquals(left(wrapped), Nil)
      readWithout(old)
    }

  test("the KMS is asked once for each distinct key, and opens each new wrapped key to check it") {
    written()
    rotate()
    assertEquals(WatchedKms.count("unwrap"), (old ++ renewed.values).map(_ -> 1).toMap)
    assertEquals(WatchedKms.count("wrap"), renewed.values.map(_ -> 1).toMap)
  }

  test("each single-wrapped key is rewrapped") {
    written("doubleWrapping" -> "false")
    val done = rotate()
    assertEquals(done.map(_.rewrapped), Seq(3, 3))
    assertEquals(WatchedKms.count("wrap"), renewed.values.map(_ -> 2).toMap)
    assertEquals(WatchedKms.count("unwrap"), (old ++ renewed.values).map(_ -> 2).toMap)
    readWithout(old)
  }

  for (
    (mode, (from, to)) <- modes.zip(
      Seq("footer" -> "footer-2", "pii" -> "pii-2", "footer" -> "footer-2", "pii" -> "pii-2")
    )
  )
    test(s"keys under other master keys than $from do not change: ${mode.mkString(", ")}") {
      written(mode: _*)
      assertEquals(rotate(this.to(from -> to)).map(_.left).distinct, Seq(old.filter(_ != from)))
      readWithout(Seq(from))
      WatchedKms.lacks = Set(to)
      refused(KeyNotFound, to)(load().collect())
    }

  test("unchanged keys need no KMS, except for the footer key") {
    written()
    WatchedKms.lacks = Set("pii")
    rotate(to("pay" -> "pay-2"))
    readWithout(Seq("pay"))
  }

  test("finished work is not repeated") {
    written()
    rotate()
    WatchedKms.calls.clear()
    untouched()(assertEquals(counts(rotate()), Map("unchanged" -> 2)))
    assertEquals(WatchedKms.count("wrap"), Map.empty[String, Int])
  }

  test("without names keys are wrapped again with their own master keys") {
    written()
    val wrapped = WatchedKms.wrapped.toList
    rotate(RotationSettings())
    assertEquals(left(wrapped), Nil)
    assertEquals(WatchedKms.count("wrap"), old.map(_ -> 1).toMap)
    readWithout(Nil)
  }

  test("a dry run says what would be done, and does nothing") {
    written()
    untouched()(assertEquals(counts(rotate(all.copy(dryRun = true))), Map("rotated" -> 2)))
    assertEquals(WatchedKms.count("wrap"), Map.empty[String, Int])
  }

  private val elsewhere = Map("parquet.encryption.kms.instance.id" -> "elsewhere")
  private def away = RotationSettings(newKms = Some(watched ++ elsewhere))
  private def readElsewhere(): Unit = readWithout(Nil, elsewhere.toSeq: _*)

  test("keys move to another KMS, and an interrupted move continues") {
    val first = written().head
    rotate(away, path = first.toString)
    assertEquals(counts(rotate(away)), Map("unchanged" -> 1, "rotated" -> 1))
    readElsewhere()
    refused(NotAuthentic, ".parquet")(load().collect())
  }

  test("a table with half of its keys in another KMS continues, and its key material moves, too") {
    written()
    val before = pages()
    rotate(away.copy(masterKeys = Some(Map("pii" -> "pii", "pay" -> "pay"))))
    rotate(away)
    assertEquals(counts(rotate(away.copy(keyMaterial = Some("external")))), Map("rotated" -> 2))
    readElsewhere()
    assertEquals(pages(), before)
  }

  test("a key that has its new name already moves to another KMS, too") {
    written()
    rotate()
    rotate(away.copy(masterKeys = Some(renewed)))
    readElsewhere()
  }

  test("files without wrapped keys are skipped") {
    write(people.coalesce(1), watched ++ protection, s"$target/a=1")
    people.coalesce(1).write.parquet(s"$target/a=2")
    write(
      people.coalesce(1),
      holding("footer") ++ Map("footerKey" -> "footer", "keyManagement" -> "direct"),
      s"$target/a=3"
    )
    untouched("table/a=2")(untouched("table/a=3") {
      val done = rotate(to("footer" -> "other"))
      assertEquals(counts(done), Map("rotated" -> 1, "skipped" -> 2))
      assertEquals(
        done.flatMap(_.message).toSet,
        Set("it is not encrypted", "it has no wrapped key")
      )
    })
  }

  test("an AAD prefix that files do not store is an option") {
    written("aadPrefix" -> "orders", "storeAadPrefix" -> "false")
    untouched() {
      assertEquals(rotate().flatMap(_.condition), Seq(AadPrefix.name, AadPrefix.name))
    }
    rotate(options = watched + ("aadPrefix" -> "orders"))
    readWithout(old, "aadPrefix" -> "orders")
  }

  test("files without rows lose their old keys, too") {
    write(people.where("id < 0").coalesce(1), watched ++ protection + ("keyMaterial" -> "external"))
    val wrapped = WatchedKms.wrapped.toList
    assertEquals(left(wrapped), wrapped)
    rotate()
    assertEquals(left(wrapped), Nil)
    WatchedKms.lacks = old.toSet
    assertEquals(load().count(), 0L)
  }

  test("a chain of master keys is refused") {
    written()
    untouched()(refused(BadOption, "'footer'", "'pii'")(rotate(to("footer" -> "pii", "pii" -> "pii-2"))))
  }

  // ---- names that no file uses

  private val slips = Seq(
    "pi" -> to("pi" -> "pii-2"),
    "pi" -> RotationSettings(masterKeys = Some(renewed + ("pi" -> "pii-3"))),
    "PII" -> to("PII" -> "pii-2"),
    // The name is wrong, and the target has other keys under it: nothing shows that an earlier run did this.
    "salaries" -> to("salaries" -> "pay")
  )

  test("a master key that no file uses is refused, in a dry run as well") {
    written()
    untouched() {
      for ((wrong, settings) <- slips; isDry <- Seq(false, true))
        refused(BadOption, s"'$wrong'", "footer, pay, pii", "allow_unused")(
          rotate(settings.copy(dryRun = isDry))
        )
    }
    assertEquals(WatchedKms.count("wrap"), Map.empty[String, Int])
  }

  test("a damaged file does not hide a master key that no file uses") {
    written()
    val junk =
      Files.write(directory.resolve("table/x.parquet"), bytes("PAR1 and no more PAR1")).getFileName.toString
    for (isDry <- Seq(true, false)) {
      untouched() {
        val words = Seq("'pi'", "footer, pay, pii", junk, "nothing was rotated")
        refused(BadOption, words: _*)(rotate(to("pi" -> "pii-2").copy(dryRun = isDry)))
      }
      assertEquals(WatchedKms.count("wrap"), Map.empty[String, Int])
    }
    for (isDry <- Seq(true, false)) {
      val unused = rotate(to("no" -> "one").copy(dryRun = isDry, allowUnused = true))
      assertEquals(counts(unused), Map("unchanged" -> 2, "failed" -> 1))
      val done = rotate(all.copy(dryRun = isDry))
      assertEquals(counts(done), Map("rotated" -> 2, "failed" -> 1))
      assert(done.filter(_.status == "failed").forall(_.file.endsWith(junk)))
    }
  }

  test("a master key that no file uses can be allowed") {
    written()
    assertEquals(
      counts(rotate(RotationSettings(masterKeys = Some(renewed + ("pi" -> "pii-3")), allowUnused = true))),
      Map("rotated" -> 2)
    )
  }

  for (material <- Seq("internal", "external"))
    test(s"finished work is distinguished from a wrong name: $material") {
      val first = written("keyMaterial" -> material).head
      // The state after an interrupted run: one file is done, and one name is done in all files.
      rotate(to("pii" -> "pii-2"))
      rotate(path = first.toString)
      assertEquals(counts(rotate()), Map("unchanged" -> 1, "rotated" -> 1))
      assertEquals(counts(rotate()), Map("unchanged" -> 2))
      for (wrong <- Seq("pi" -> "pii-2", "pii" -> "pay-2", "pii" -> "pii-3"))
        untouched()(refused(BadOption, s"'${wrong._1}'", "footer-2, pay-2, pii-2")(rotate(to(wrong))))
      readWithout(old)
    }

  test("a new master key that cannot wrap is one failure, and not one for each file") {
    written()
    WatchedKms.lacks = Set("pii-2")
    untouched() {
      val text = refused(KeyNotFound, "pii-2")(rotate())
      assert(!text.contains(target), text)
    }
  }

  test("a table without files has no key to rotate") {
    write(people.limit(0), watched + ("uniformKey" -> "k"))
    files().foreach(Files.delete(_))
    refused(BadOption, "'k'", "no master key")(rotate(to("k" -> "k-2")))
  }

  // ---- files

  test("files keep their permissions, and no checksum of an old file is left") {
    for (material <- Seq("internal", "external")) {
      val path = s"$target-$material"
      write(people.repartition(2), watched ++ protection + ("keyMaterial" -> material), path)
      val mode = PosixFilePermissions.fromString("rw-r-----")
      allFiles(path).foreach(Files.setPosixFilePermissions(_, mode))
      rotate(path = path)
      val seen = allFiles(path).filterNot(_.getFileName.toString.startsWith("."))
      assertEquals(seen.map(Files.getPosixFilePermissions(_)).toSet, Set(mode))
      if (material == "internal")
        assertEquals(
          files(path).filter(one => Files.exists(one.resolveSibling(s".${one.getFileName}.crc"))),
          Nil
        )
    }
  }

  test("leftovers of a killed rotation are removed, and not by a dry run") {
    write(people.selectExpr("*", "id % 2 AS half"), watched ++ protection, s"$target/inner")
    val left = Seq("table/.pme-rotation-1", "table/inner/.pme-rotation-2").map(directory.resolve(_))
    left.foreach(Files.write(_, bytes("half a file")))
    rotate(to().copy(dryRun = true))
    assertEquals(left.map(Files.exists(_)), Seq(true, true))
    rotate(to())
    assertEquals(left.map(Files.exists(_)), Seq(false, false))
  }

  test("a file written again after it was read does not change") {
    val victim = written().head
    val before = Files.readAllBytes(victim).toSeq
    WatchedKms.meanwhile =
      call => if (call.startsWith("wrap")) Files.setLastModifiedTime(victim, FileTime.fromMillis(0))
    val done = rotate()
    assertEquals(counts(done), Map("failed" -> 1, "rotated" -> 1))
    val failed = done.filter(_.status == "failed").head
    assertEquals(failed.condition, Some(Unsupported.name))
    assert(failed.message.exists(_.contains("changed while this ran")), failed.message)
    assert(failed.file.endsWith(victim.getFileName.toString))
    assertEquals(Files.readAllBytes(victim).toSeq, before)
    WatchedKms.meanwhile = _ => ()
    assertEquals(counts(rotate()), Map("rotated" -> 1, "unchanged" -> 1))
  }

  test("a frame made before the rotation still reads") {
    written()
    val frame = load()
    rotate(to("footer" -> "a-longer-name-than-before"))
    assertEquals(rows(frame), rows(people))
  }

  /** A table with a partition, at `table/day=1`. */
  private def partitioned(more: (String, String)*): Unit =
    write(people.repartition(2), watched ++ protection ++ more, s"$target/day=1")

  private def allRefused(words: String*)(path: String): Unit = {
    val done = rotate(path = path)
    assertEquals(counts(done), Map("failed" -> 2))
    assertEquals(done.flatMap(_.condition).distinct, Seq(Unsupported.name))
    words.foreach(word => assert(done.flatMap(_.message).forall(_.contains(word)), s"$word: $done"))
  }

  for (
    (log, remedy) <- Seq(
      "_spark_metadata" -> "Rotate a copy",
      "_delta_log" -> "commit of the table",
      ".hoodie" -> "the tools of its table format"
    )
  )
    test(s"files whose lengths $log records are not changed") {
      partitioned()
      Files.createDirectory(directory.resolve(s"table/$log"))
      untouched()(Seq(target, s"$target/day=1").foreach(allRefused(log, remedy)))
    }

  test("files of Iceberg are not changed") {
    partitioned()
    val metadata = Files.createDirectory(directory.resolve("metadata"))
    Files.createFile(metadata.resolve("v1.metadata.json"))
    untouched()(Seq(target, s"$target/day=1").foreach(allRefused(metadata.toString)))
  }

  test("among several tables those with recorded lengths do not change") {
    for (name <- Seq("plain", "delta")) write(people.coalesce(1), watched ++ protection, s"$target/$name")
    Files.createDirectory(directory.resolve("table/delta/_delta_log"))
    val done = untouched("table/delta")(rotate())
    val found = done.map(one => Paths.get(one.file).getParent.getFileName.toString -> one.status).toMap
    assertEquals(found, Map("plain" -> "rotated", "delta" -> "failed"))
  }

  test("external key material of files with recorded lengths is rotated, and does not move into them") {
    written("keyMaterial" -> "external")
    Files.createDirectory(directory.resolve("table/_delta_log"))
    val before = files().map(Files.readAllBytes(_).toSeq)
    assertEquals(counts(rotate()), Map("rotated" -> 2))
    assertEquals(files().map(Files.readAllBytes(_).toSeq), before)
    untouched() {
      val refusals = rotate(to().copy(keyMaterial = Some("internal")))
      assertEquals(refusals.flatMap(_.condition), Seq.fill(2)(Unsupported.name))
      assert(refusals.forall(_.message.exists(_.contains("_delta_log"))), refusals)
    }
  }

  // ---- hostile files

  private def entriesOf(file: Path) =
    new ObjectMapper().readTree(Files.readAllBytes(materialOf(file))).asInstanceOf[ObjectNode]

  private def changed(entry: String, fields: (String, String)*): String = {
    val found = new ObjectMapper().readTree(entry).asInstanceOf[ObjectNode]
    fields.foreach { case (name, value) => found.put(name, value) }
    found.toString
  }

  /** A key that somebody else had the KMS wrap under a master key of this table. */
  private def planted(): (String, String) = {
    val kms = new WatchedKms
    kms.initialize(null, "DEFAULT", "", "")
    kms.wrapKey(Array.tabulate(16)(_.toByte), "pay") -> "AAECAwQFBgcICQoLDA0ODw=="
  }

  for (isDouble <- Seq(true, false); reference <- Seq("footerKey", "columnKey0"))
    test(s"a planted wrapped key is not wrapped again: $reference, doubleWrapping=$isDouble") {
      val made = written("keyMaterial" -> "external", "doubleWrapping" -> isDouble.toString)
      val (victim, other) = (made.head, made.last)
      val (wrapped, secret) = planted()
      val entries = entriesOf(victim)
      val field = if (isDouble) "wrappedKEK" else "wrappedDEK"
      val bent = changed(entries.get(reference).asText, "masterKeyID" -> "pay", field -> wrapped)
      entries.put(reference, bent)
      AlteredFile.replace(materialOf(victim), bytes(entries.toString))
      val before = Seq(victim, materialOf(victim)).map(Files.readAllBytes(_).toSeq)
      val keysBefore = WatchedKms.keys.size
      val done = rotate()
      assertEquals(counts(done), Map("rotated" -> 1, "failed" -> 1))
      val failed = done.filter(_.status == "failed").head
      assertEquals(failed.condition, Some(NotAuthentic.name))
      assert(
        failed.file.endsWith(victim.getFileName.toString) && failed.message
          .exists(_.contains(victim.getFileName.toString))
      )
      assert(!failed.message.exists(_.contains(wrapped)), failed.message)
      assertEquals(Seq(victim, materialOf(victim)).map(Files.readAllBytes(_).toSeq), before)
      assert(!WatchedKms.keys.drop(keysBefore).contains(secret))
      WatchedKms.lacks = old.toSet
      assert(load(other.toString).count() > 0)
    }

  test("a planted footer key in a file is not wrapped again") {
    val victim = written().head
    val (wrapped, secret) = planted()
    AlteredFile.cryptoMetadata(victim) { metadata =>
      val entry =
        changed(new String(metadata.getKey_metadata, UTF_8), "masterKeyID" -> "pay", "wrappedKEK" -> wrapped)
      metadata.setKey_metadata(bytes(entry))
      ()
    }
    val keysBefore = WatchedKms.keys.size
    val before = Files.readAllBytes(victim).toSeq
    val done = rotate()
    assertEquals(counts(done), Map("rotated" -> 1, "failed" -> 1))
    assertEquals(done.flatMap(_.condition), Seq(NotAuthentic.name))
    assert(done.filter(_.status == "failed").head.file.endsWith(victim.getFileName.toString))
    assertEquals(Files.readAllBytes(victim).toSeq, before)
    assert(!WatchedKms.keys.drop(keysBefore).contains(secret))
  }

  test("an entry of key material that the file does not use is removed") {
    val victim = written("keyMaterial" -> "external").head
    val entries = entriesOf(victim)
    entries.put(
      "columnKey77",
      changed(entries.get("columnKey0").asText, "masterKeyID" -> "pay", "wrappedKEK" -> planted()._1)
    )
    AlteredFile.replace(materialOf(victim), bytes(entries.toString))
    rotate()
    assertEquals(entriesOf(victim).has("columnKey77"), false)
    assertEquals(entriesOf(victim).size, entries.size - 1)
    readWithout(old)
  }

  test("an altered signed footer fails its own file only") {
    val victim = written("plaintextFooter" -> "true").head
    AlteredFile.flip(victim, -TailBytes - 1)
    val before = Files.readAllBytes(victim).toSeq
    val done = rotate()
    assertEquals(counts(done), Map("rotated" -> 1, "failed" -> 1))
    assertEquals(
      done.filter(_.status == "failed").map(one => one.condition.get -> Paths.get(one.file).getFileName),
      Seq(NotAuthentic.name -> victim.getFileName)
    )
    assertEquals(Files.readAllBytes(victim).toSeq, before)
  }

  test("files without their external key material fail") {
    written("keyMaterial" -> "external").foreach(file => Files.delete(materialOf(file)))
    untouched() {
      assertEquals(rotate().flatMap(_.condition), Seq.fill(2)(io.pmeparquet.Condition.KeyMetadata.name))
    }
  }

  // ---- planted files

  private val aside = to("pii" -> "pii-1")
  private val back = to("pii-1" -> "pii")

  /** The path of the mark of a rotation: the same arguments give the same name. */
  private def markOf(settings: RotationSettings): Path = {
    var seen = Set.empty[Path]
    WatchedKms.meanwhile = _ =>
      seen ++= allFiles()
        .filter(_.getFileName.toString.startsWith(".pme-rotating-"))
        .filterNot(_.toString.endsWith(".crc"))
    rotate(settings)
    WatchedKms.meanwhile = _ => ()
    assertEquals(seen.size, 1)
    seen.head
  }

  for (plant <- Seq("a link", "a dangling link", "a directory", "content"))
    test(s"a mark that somebody planted is not written to: $plant") {
      val precious = Files.createDirectory(directory.resolve("elsewhere"))
      Files.write(precious.resolve("file"), bytes("what nobody may touch"))
      written()
      val mark = markOf(aside)
      rotate(back)
      plant match {
        case "a directory" => Files.createDirectory(mark)
        case "content" => Files.write(mark, bytes("what nobody may touch"))
        case _ =>
          Files.createSymbolicLink(mark, precious.resolve(if (plant == "a link") "file" else "not-there"))
      }
      untouched("elsewhere")(untouched() {
        refused(Unsupported, mark.getFileName.toString, "put it there")(rotate(aside))
      })
    }

  test("files behind a linked directory are not rotated, and a table that a link names is") {
    partitioned()
    write(people.coalesce(1), watched ++ protection, s"$target/day=2")
    val other = Files.move(directory.resolve("table/day=1"), directory.resolve("other"))
    val link = Files.createSymbolicLink(directory.resolve("table/day=1"), other)
    for (isDry <- Seq(false, true))
      untouched("other")(untouched() {
        refused(Unsupported, "day=1", "symbolic link")(rotate(all.copy(dryRun = isDry)))
      })
    assert(Files.isSymbolicLink(link))
    // The same files by the link itself, first one of them.
    val named = Files.createSymbolicLink(directory.resolve("link"), other)
    val one = named.resolve(files("other").head.getFileName)
    assertEquals(counts(rotate(path = one.toString)), Map("rotated" -> 1))
    assertEquals(counts(rotate(path = named.toString)), Map("rotated" -> 1, "unchanged" -> 1))
    WatchedKms.lacks = old.toSet
    assertEquals(rows(load(other.toString)), rows(people))
  }

  test("a rotation that fails leaves no mark") {
    written()
    WatchedKms.lacks = Set("pii-2")
    untouched()(refused(KeyNotFound)(rotate()))
  }
}
