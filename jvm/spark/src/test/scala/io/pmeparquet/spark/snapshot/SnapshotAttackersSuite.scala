package io.pmeparquet.spark.snapshot

import java.nio.file.{Files, Path, Paths}
import java.util.Base64

import scala.util.Try

import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Condition, PmeException, Secret, Sha256}
import io.pmeparquet.keys.KmsSource
import io.pmeparquet.kms.local.StaticKms
import io.pmeparquet.snapshot.manifest.HmacSealer
import io.pmeparquet.spark.{AlteredFile, SealedSuite}
import io.pmeparquet.spark.admin.{Rotation, RotationSettings, Verification}
import io.pmeparquet.spark.admin.seal.{SealResult, Sealing}
import io.pmeparquet.spark.keys.HolderKms
import io.pmeparquet.Condition.{
  BadOption,
  KeyNotFound,
  NotAuthentic,
  SecretInOption,
  SnapshotDamaged,
  SnapshotMismatch,
  SnapshotNotAuthentic
}

/** What sealing protects against (docs/snapshots.md, "What sealing protects against"), attacker by attacker. */
class SnapshotAttackersSuite extends SealedSuite {
  private val masterKeys = Seq("footer", "pii")

  /** The options of someone who has these master keys. Readers have both; nobody trusts signatures of `mallory`. */
  private def keysOf(holder: String): Options = HolderKms.options(heldBy(holder) :+ "sign:mallory": _*)
  private val owner = HolderKms.options(masterKeys :+ "sign:signer" :+ "sign:third": _*)

  private def heldBy(holder: String) = holder match {
    case "readers" => masterKeys
    case "outsider" => Nil
    case key if masterKeys.contains(key) => Seq(key)
  }

  private val policy = Map("footerKey" -> "footer", "columnKeys" -> "pii: name", "compression" -> "none")

  private def people(first: Long) =
    numbers(first, 10, files = 1).selectExpr("id", "concat('name-', id) AS name")

  private lazy val verifyKey = publicKey("signer")

  private def publicKey(id: String): Options = {
    val pem = Files.createTempFile(directory.getParent, id, ".pem")
    Files.write(pem, HolderKms.pem(id).getBytes)
    Map("verifyKey" -> s"file:$pem")
  }

  private def signing(isSigned: Boolean, key: String = "signer"): Options =
    if (isSigned) Map("signingKey" -> key) else Map.empty

  /** A table of two versions, of which only the second has the file of the ids from 20, next to its first version. */
  private final class Sealed(val isSigned: Boolean, written: Options = policy) {
    private val kept = new Kept(path => {
      Seq(0L, 10L).foreach(first => save(people(first), path, options = policy ++ owner))
      seal(path, owner ++ signing(isSigned), session = fresh)
      copy(Paths.get(path), Paths.get(s"$path-older"))
      save(people(20), s"$path-other", options = written ++ owner)
      AlteredFile.replace(files(path).head, Files.readAllBytes(files(s"$path-other").head))
      seal(path, owner ++ signing(isSigned), session = fresh)
      ()
    })

    def apply(holder: String): Attacked = {
      val path = kept()
      delete(Paths.get(path).resolveSibling("elsewhere"))
      new Attacked(path, holder, isSigned)
    }
  }

  override protected def delete(file: Path): Unit = if (Files.exists(file)) super.delete(file)

  private val byHmac = new Sealed(isSigned = false)
  private val bySignature = new Sealed(isSigned = true)
  private val tables = Seq(byHmac, bySignature)

  /** A sealed table in the hands of someone. */
  private final class Attacked(val path: String, holder: String, isSigned: Boolean) {
    val keys: Options = keysOf(holder)
    val elsewhere: Path = Paths.get(path).resolveSibling("elsewhere")
    def data: Seq[Path] = files(path)
    def older: Path = Paths.get(s"$path-older")

    /** A file with the attacker's keys; who lacks a key makes one of this name. */
    def write(first: Long): Path = {
      val own = heldBy(holder) ++ masterKeys.diff(heldBy(holder)).map(key => s"$key=mallory")
      val forged = directory.resolve("forged")
      delete(forged)
      save(people(first), forged.toString, options = policy ++ HolderKms.options(own: _*))
      files(forged.toString).head
    }

    /** Seals the table as the attacker can, and tells whether it worked. */
    def forge(options: Options = Map.empty): Boolean =
      Try(seal(path, keys ++ options, session = fresh)).isSuccess

    private val needed = if (isSigned) verifyKey else Map.empty[String, String]

    def count(options: Options = Map.empty, session: SparkSession = fresh, at: String = path): Long =
      load(at, keysOf("readers") ++ needed ++ options, session).collect().length.toLong

    /** What a reader's new session fails with, or whether verify finds anything. */
    def read(options: Options = Map.empty, at: String = path): Any =
      try {
        count(options, at = at)
        val found = Verification.verify(fresh, at, keysOf("readers") ++ needed ++ options).findings
        if (found.isEmpty) No else ByVerify
      } catch { case failed: Exception => PmeException.find(failed).getOrElse(throw failed).condition }
  }

  private val ByVerify = "found by verify"
  private val No = "not detectable"

  private val rowsOf21 = (manifest: Path) =>
    AlteredFile.change(manifest)(content =>
      new String(content, "UTF-8").replace("\"rows\":20", "\"rows\":21").getBytes("UTF-8")
    )

  private val actions: Map[String, Attacked => Any] = Map(
    "copy" -> (at => copy(at.data.head, Paths.get(at.path, "part-99999-copy.parquet"))),
    "add" -> (at => copy(at.write(100), Paths.get(at.path, "part-99999-new.parquet"))),
    "drop" -> (at => delete(at.data.head)),
    "rename" -> (at => Files.move(at.data.head, Paths.get(at.path, "part-88888.parquet"))),
    "swap" -> (at => AlteredFile.replace(at.data.head, Files.readAllBytes(at.data.last))),
    "replace" -> (at => AlteredFile.replace(at.data.head, Files.readAllBytes(at.write(100)))),
    "replace all" -> { at =>
      val made = at.write(100)
      at.data.tail.foreach(delete)
      AlteredFile.replace(at.data.head, Files.readAllBytes(made))
    },
    "put back a file" -> (at =>
      AlteredFile.replace(at.data.head, Files.readAllBytes(at.older.resolve(at.data.head.getFileName)))
    ),
    "delete snapshots" -> (at => delete(snapshotsOf(at.path))),
    "alter manifest" -> (at => rowsOf21(manifestOf(2, at.path))),
    // Another character of base64: most others would only be a seal that nobody can decode.
    "alter seal" -> (at =>
      AlteredFile.change(manifestOf(2, at.path)) { content =>
        val place = content.length - 20
        content.updated(place, (if (content(place) == 'B') 'C' else 'B').toByte)
      }
    ),
    "rename manifest" -> (at => Files.move(manifestOf(2, at.path), manifestOf(9, at.path))),
    "alter list" -> (at =>
      parts(at.path).foreach(part => AlteredFile.flip(part, Files.size(part).toInt / 2))
    ),
    "delete list" -> (at => parts(at.path).foreach(delete)),
    "cut footer" -> (at => AlteredFile.change(at.data.head)(_.dropRight(1))),
    "alter footer" -> (at => AlteredFile.flip(at.data.head, -40))
  )

  test("the owner's table is read, and nothing is found") {
    for (table <- tables) {
      val whole = table("readers")
      assertEquals(whole.read(), No)
      assertEquals(whole.read(required + ("minSnapshot" -> "2")), No)
    }
  }

  // Whoever can seals the table again afterwards. With the footer's key alone one can make a list of any files,
  // but no file whose other columns readers accept.
  for (
    (action, holder, noticed) <- Seq[(String, String, Any)](
      ("copy", "outsider", SnapshotMismatch),
      ("copy", "footer", No),
      ("copy", "readers", No),
      ("add", "pii", SnapshotMismatch),
      // The schema comes from the footer of a file, which is under another key.
      ("add", "footer", NotAuthentic),
      ("add", "readers", No),
      ("drop", "pii", SnapshotMismatch),
      ("drop", "footer", No),
      ("rename", "outsider", SnapshotMismatch),
      ("rename", "readers", No),
      ("swap", "pii", SnapshotMismatch),
      ("swap", "footer", No),
      ("replace", "outsider", SnapshotMismatch),
      ("replace", "pii", SnapshotMismatch),
      ("replace", "footer", NotAuthentic),
      ("replace", "readers", No),
      ("replace all", "pii", SnapshotMismatch),
      ("replace all", "footer", NotAuthentic),
      ("replace all", "readers", No),
      ("put back a file", "outsider", SnapshotMismatch),
      ("put back a file", "footer", No),
      ("delete snapshots", "outsider", No),
      ("delete snapshots", "readers", No),
      // These break existing snapshots. Anyone who can seal takes the list away first.
      ("alter manifest", "pii", SnapshotNotAuthentic),
      ("alter manifest", "readers", SnapshotNotAuthentic),
      ("alter seal", "footer", SnapshotNotAuthentic),
      ("rename manifest", "readers", SnapshotNotAuthentic),
      ("alter list", "outsider", SnapshotNotAuthentic),
      ("alter list", "footer", SnapshotNotAuthentic),
      ("cut footer", "readers", SnapshotMismatch),
      ("alter footer", "footer", SnapshotMismatch)
    )
  ) test(s"what a reader notices of a table with an HMAC: $action by $holder") {
    val attacked = byHmac(holder)
    actions(action)(attacked)
    attacked.forge()
    assertEquals(attacked.read(), noticed)
  }

  test("a reader with the public key refuses every altered table") {
    for (
      (action, change) <- actions; holder <- Seq("readers") ++ Seq("footer").filter(_ => action == "add")
    ) {
      val attacked = bySignature(holder)
      change(attacked)
      val noticed = action match {
        case "alter manifest" | "alter seal" | "rename manifest" | "alter list" => SnapshotNotAuthentic
        case "delete list" => SnapshotDamaged
        case _ => SnapshotMismatch
      }
      assertEquals(attacked.read(), noticed, s"$action by $holder")
    }
  }

  test("a reader with the public key refuses what others seal, with an HMAC and with a key of theirs") {
    val keys = Seq(signing(isSigned = false), signing(isSigned = true, "mallory"))
    for (
      (action, at) <- Seq("copy", "drop", "put back a file", "replace all").zipWithIndex;
      (holder, who) <- Seq("readers", "footer", "outsider").zipWithIndex
    ) {
      val attacked = bySignature(holder)
      actions(action)(attacked)
      for (key <- if (isWhole) keys else Seq(keys((at + who) % 2))) {
        delete(snapshotsOf(attacked.path))
        val seals = heldBy(holder).contains("footer")
        assertEquals(attacked.forge(key), seals, s"$action by $holder")
        val noticed = if (seals) SnapshotNotAuthentic else SnapshotMismatch
        assertEquals(attacked.read(), noticed, s"$action by $holder")
      }
    }
  }

  test("readers forge HMACs and no signatures") {
    val attacked = bySignature("readers")
    actions("drop")(attacked)
    // They cannot verify what the signer has signed, and so cannot add a version.
    for (key <- Seq("", "mallory", "signer"))
      assert(!attacked.forge(signing(key.nonEmpty, key)), key)
    delete(snapshotsOf(attacked.path))
    assertEquals(attacked.read(), SnapshotMismatch)
    assert(attacked.forge())
    assertEquals(attacked.read(), SnapshotNotAuthentic)
    // Without the public key, a reader accepts the forged HMAC.
    assertEquals(load(attacked.path, attacked.keys, fresh).count(), 10L)
    delete(snapshotsOf(attacked.path))
    assert(attacked.forge(signing(isSigned = true, "mallory")))
    assertEquals(attacked.read(), SnapshotNotAuthentic)
    refused(SnapshotNotAuthentic)(load(attacked.path, attacked.keys, fresh).collect())
  }

  test("an older table is noticed by its version only, and by a session that has read a newer one") {
    for ((table, holder) <- Seq(byHmac -> "footer", byHmac -> "pii", bySignature -> "readers")) {
      val attacked = table(holder)
      val session = fresh
      assertEquals(attacked.count(session = session), 20L)
      delete(Paths.get(attacked.path))
      copy(attacked.older, Paths.get(attacked.path))
      assertEquals(attacked.read(), No)
      val least = Map("minSnapshot" -> "2")
      assertEquals(attacked.read(least), SnapshotNotAuthentic)
      refused(SnapshotNotAuthentic)(attacked.count(session = session))
      val sealsAgain = !table.isSigned && holder == "footer"
      assertEquals(attacked.forge(), sealsAgain)
      assertEquals(attacked.read(least), if (sealsAgain) No else SnapshotNotAuthentic)
      delete(snapshotsOf(attacked.path))
      refused(if (table.isSigned) SnapshotMismatch else SnapshotNotAuthentic)(
        attacked.count(session = session)
      )
    }
  }

  test("a copy elsewhere needs another seal") {
    for (
      (table, holder) <- Seq(
        byHmac -> "footer",
        byHmac -> "outsider",
        bySignature -> "readers",
        bySignature -> "pii"
      )
    ) {
      val attacked = table(holder)
      val copied = attacked.elsewhere.toString
      copy(Paths.get(attacked.path), attacked.elsewhere)
      assertEquals(attacked.read(at = copied), SnapshotNotAuthentic)
      delete(snapshotsOf(copied))
      val sealsIt = Try(Sealing.seal(fresh, copied, attacked.keys, expect = Some("unsealed"))).isSuccess
      assertEquals(sealsIt, heldBy(holder).contains("footer"), holder)
      if (table.isSigned)
        assertEquals(attacked.read(at = copied), if (sealsIt) SnapshotNotAuthentic else SnapshotMismatch)
      else {
        assertEquals(attacked.read(at = copied), No)
        assertEquals(attacked.read(required, copied), if (sealsIt) No else SnapshotMismatch)
      }
    }
  }

  test("deleted snapshots are missed by readers who require them") {
    for (table <- tables) {
      val attacked = table("outsider")
      actions("delete snapshots")(attacked)
      for (needed <- Seq(required, Map("minSnapshot" -> "2")))
        assertEquals(attacked.read(needed), SnapshotMismatch)
      assertEquals(attacked.read(), if (table.isSigned) SnapshotMismatch else No)
    }
  }

  test("the log of a stream adds no file that lies elsewhere") {
    for ((table, how) <- tables.flatMap(table => readers.map(table -> _))) {
      val attacked = table("outsider")
      val planted = attacked.elsewhere.resolve("part-99999.parquet")
      copy(attacked.data.head, planted)
      val entries = (attacked.data :+ planted).map { file =>
        s"""{"path":"${file.toUri}","size":${Files.size(file)},"isDir":false,"modificationTime":1,""" +
          """"blockReplication":1,"blockSize":33554432,"action":"add"}"""
      }
      val log = Files.createDirectory(Paths.get(attacked.path, "_spark_metadata"))
      Files.write(log.resolve("0"), ("v1" +: entries).mkString("\n").getBytes)
      try assertEquals(attacked.count(how ++ required), 20L)
      catch {
        case failed: Exception =>
          assertEquals(PmeException.find(failed).map(_.condition), Some(SnapshotMismatch: Condition))
      }
    }
  }

  test("an altered page is refused by its tag, and sealing again does not help") {
    for (table <- tables) {
      val attacked = table("readers")
      AlteredFile.flipInModule(attacked.data.head, 1)
      assertEquals(attacked.read(), NotAuthentic)
      if (!table.isSigned) attacked.forge()
      assertEquals(attacked.read(), NotAuthentic)
    }
  }

  test("an altered page without a tag is found by verify, until readers seal the table again") {
    // Pages without a tag, a checksum and a dictionary: each of their bytes is a value.
    val ctr = Map("algorithm" -> "AES_GCM_CTR_V1")
    val clear = Map("parquet.enable.dictionary" -> "false", "parquet.page.write-checksum.enabled" -> "false")
    for (isSigned <- Seq(false, true)) {
      val path = directory.resolve(s"ctr-$isSigned").toString
      save(people(0), path, options = policy ++ ctr ++ clear ++ owner)
      seal(path, owner ++ ctr ++ signing(isSigned), session = fresh)
      val attacked = new Attacked(path, "readers", isSigned)
      val file = attacked.data.head
      val (at, size) = AlteredFile.modules(Files.readAllBytes(file))(1)
      // Within the values of the first column, which are numbers: each is as good as another.
      AlteredFile.flip(file, at + size - 1)
      assertEquals(attacked.read(ctr), ByVerify)
      if (!isSigned) {
        age(file)
        assert(attacked.forge(ctr))
        assertEquals(attacked.read(ctr), No)
      }
    }
  }

  // Signed tables.

  private def sealSigned(key: String = "signer", more: Options = Map.empty): SealResult = {
    if (files().isEmpty) save(people(0), options = policy ++ owner)
    seal(options =
      owner ++ HolderKms.options(masterKeys :+ s"sign:$key": _*) ++ signing(isSigned = true, key) ++ more
    )
  }

  private def count(options: Options, session: SparkSession = spark) =
    load(target, keysOf("readers") ++ options, session).collect().length

  for ((key, algorithm) <- Seq("signer" -> "Ed25519", "ec-signer" -> "SHA256withECDSA"))
    test(s"a reader with the public key reads a signed table: $algorithm") {
      val made = sealSigned(key)
      assertEquals((made.algorithm, made.key), (algorithm, key))
      assertEquals(count(publicKey(key)), 10)
      plant(people(20), options = policy ++ owner)
      refused(SnapshotMismatch)(count(publicKey(key)))
      assertEquals(sealSigned(key).version, 2L)
      assertEquals(count(publicKey(key)), 20)
    }

  test("a signature needs its public key") {
    sealSigned()
    refused(SnapshotNotAuthentic, "verifyKey is not set", "snapshot=off")(count(Map.empty))
    refused(SnapshotNotAuthentic, "does not verify its signature")(count(publicKey("other")))
    assertEquals(count(verifyKey), 10)
    delete(snapshotsOf())
    refused(SnapshotMismatch, "the table has no snapshot", "verifyKey")(count(verifyKey, fresh))
    plant(people(20), options = policy ++ owner)
    seal(options = owner, session = fresh)
    refused(SnapshotNotAuthentic, "HMAC-SHA256", "verifyKey verifies Ed25519")(count(verifyKey, fresh))
  }

  test("a signed table is not sealed on with an HMAC or another key, nor an HMAC with a signature") {
    sealSigned()
    refused(SnapshotNotAuthentic, "verifyKey is not set")(seal(options = owner))
    refused(SnapshotNotAuthentic, "does not verify")(sealSigned("third"))
    assertEquals(sealSigned("third", verifyKey).key, "third")
    refused(SnapshotNotAuthentic, "does not verify")(count(verifyKey))
    delete(snapshotsOf())
    val session = fresh
    seal(options = owner, session = session)
    refused(SnapshotNotAuthentic, "HMAC-SHA256")(
      seal(options = owner ++ signing(isSigned = true), session = session)
    )
  }

  test("a rotation of a signed table signs its next version") {
    sealSigned()
    val all = HolderKms.options("footer", "pii", "other", "sign:signer")
    val settings = RotationSettings(None, Some(Map("footer" -> "other")))
    refused(SnapshotNotAuthentic, "verifyKey is not set")(Rotation.rotate(spark, target, all, settings))
    val report = Rotation.rotate(spark, target, all ++ signing(isSigned = true), settings)
    assertEquals(report.collect().length, 1)
    assertEquals(versions(), Seq(1L, 2L))
    assertEquals(load(target, all ++ verifyKey + ("minSnapshot" -> "2")).count(), 10L)
  }

  test("a plaintext table is signed, or sealed with the footer's key of the options") {
    val plain = Map("plaintextFiles" -> "allow")
    for (
      (own, needed) <- Seq(
        owner ++ signing(isSigned = true) -> verifyKey,
        owner ++ footer.filter(_._1 != "kms") -> Map.empty[String, String]
      )
    ) {
      delete(Paths.get(target))
      people(0).repartition(2).write.parquet(target)
      refused(BadOption, "signingKey")(seal(options = owner ++ plain, session = fresh))
      seal(options = own ++ plain, session = fresh)
      assertEquals(count(needed ++ plain, fresh), 10)
      delete(files().head)
      refused(SnapshotMismatch)(count(needed ++ plain, fresh))
    }
  }

  test("a reference that leads to no public key, and signing keys that are missing or unfit, are refused") {
    save(people(0), options = policy ++ owner)
    val begin = "-----BEGIN PUBLIC KEY-----"
    for (text <- Seq("not a key", s"$begin\nAAAA\n-----END PUBLIC KEY-----\n")) {
      val pem = directory.resolve("some.pem")
      Files.write(pem, text.getBytes)
      refused(BadOption, "verifyKey")(count(Map("verifyKey" -> s"file:$pem")))
    }
    refused(SecretInOption, "verifyKey")(count(Map("verifyKey" -> begin)))
    refused(KeyNotFound, "nobody")(seal(options = owner ++ signing(isSigned = true, "nobody")))
    refused(KeyNotFound, "rsa")(sealSigned("rsa"))
    assert(!Files.exists(snapshotsOf()))
  }

  // The holder of a column's key and of the storage.

  private def known = new KmsSource(StaticKms.parse(new Secret(keyLines("mine", masterKeys: _*))), 0)
  private lazy val static = holding(masterKeys: _*)

  /** Replaces all rows by some under a column's key, and makes the next version under this key. */
  private def takeOver(path: String, number: Long): Unit = {
    val (kept, history) = (directory.resolve("kept"), versions(path))
    copy(Paths.get(path), kept)
    delete(Paths.get(path))
    save(numbers(500), path, options = static + ("footerKey" -> "pii"))
    seal(path, static, session = fresh)
    val (own, last) = (firstLine(manifestOf(1, path)), manifestOf(history.last, kept.toString))
    delete(manifestOf(1, path))
    history.foreach(version => copy(manifestOf(version, kept.toString), manifestOf(version, path)))
    val digest = Sha256.hex(Sha256.ofBytes(Files.readAllBytes(last)))
    val table = "\"table\":\"[^\"]*\""
    val content = own
      .replace("\"version\":1,", s""""version":$number,""")
      .replace(
        "\"previous\":null",
        "\"previous\":\"" + digest + "\""
      )
      .replaceFirst(table, table.r.findFirstIn(firstLine(last)).get)
    val by = new HmacSealer("pii", known).seal(content.getBytes("UTF-8"), "m")
    val seal64 = Base64.getEncoder.encodeToString(by.value)
    val line =
      s"""{"algorithm":"${by.algorithm}","key":"pii","wrappedKey":"${by.wrappedKey.get}","value":"$seal64"}"""
    Files.write(manifestOf(number, path), s"$content\n$line\n".getBytes("UTF-8"))
    ()
  }

  private def firstLine(manifest: Path) = Files.readAllLines(manifest).get(0)

  test("the holder of a column's key makes no next version") {
    save(numbers(), options = static + ("footerKey" -> "footer"))
    seal(options = static, session = fresh)
    val pinned = seal(options = static, session = fresh)
    val knowing = fresh
    assertEquals(ids(load(target, static, knowing)), range(20))
    takeOver(target, 3)
    for (
      options <- Seq[Options](
        Map.empty,
        Map("scan" -> "v2"),
        Map("footerKey" -> "footer"),
        Map("columnKeys" -> "pii: name"),
        required,
        Map("snapshot" -> "3"),
        Map("minSnapshot" -> pinned.digest),
        Map("minSnapshot" -> s"${pinned.table}:2")
      );
      session <- Seq(knowing, fresh)
    ) {
      val text = refused(SnapshotNotAuthentic, "pii")(ids(load(target, static ++ options, session)))
      assert(!text.contains(pinned.digest), text)
    }
    val found = Verification.verify(fresh, target, static).findings.select("condition").collect()
    assertEquals(found.map(_.getString(0)).toSeq, Seq(SnapshotNotAuthentic.name))
    // A pinned digest pins the key even if its version is gone.
    Seq(1L, 2L).foreach(version => delete(manifestOf(version)))
    refused(SnapshotNotAuthentic, "footerKey") {
      ids(load(target, static + ("minSnapshot" -> pinned.digest.take(12)), fresh))
    }
    refused(SnapshotNotAuthentic, "'pii'")(ids(load(target, static + ("footerKey" -> "footer"), fresh)))
  }
}
