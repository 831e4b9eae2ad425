package io.pmeparquet.spark.admin.erase

import java.nio.file.{Files, Path, Paths}

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.pmeparquet.{Condition, Sha256}
import io.pmeparquet.spark.{AlteredFile, SealedSuite}
import io.pmeparquet.spark.admin.{Rotation, RotationSettings, Verification}
import io.pmeparquet.spark.admin.seal.Sealing

/** Erasures of sealed tables: the next version lists the same files, and states which keys were destroyed. */
class SealedErasureSuite extends SealedSuite {
  private val erasing = Map("kms" -> classOf[ErasingKms].getName)
  // Readers that run may use keys that they have.
  private val asking = erasing + ("parquet.encryption.cache.lifetime.seconds" -> "0")
  private val sealing = erasing + ("signingKey" -> "officer")
  private val writing = sealing ++ Map("footerKey" -> "t-{tenant}", "snapshot" -> "update")
  private lazy val verifying: Options = {
    val pem = Files.createTempFile(directory.getParent, "officer", ".pem")
    Files.write(pem, ErasingKms.pem("officer").getBytes)
    Map("verifyKey" -> s"file:$pem")
  }

  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    ErasingKms.reset("t-acme", "t-bolt", "t-cafe", "footer", "pii-acme", "pii-bolt", "pii-cafe")
  }

  override protected def load(path: String, options: Options, session: SparkSession): DataFrame =
    session.read.format("pme-parquet").options(asking ++ verifying ++ options).load(path)

  private def customers(options: Options = writing, path: String = target): Unit = save(
    numbers(0, 9, files = 1).selectExpr(
      "id",
      "concat('name-', id) AS name",
      "element_at(array('acme', 'bolt', 'cafe'), CAST(id % 3 AS INT) + 1) AS tenant"
    ),
    path,
    Seq("tenant"),
    options
  )

  private def erase(
      keys: Seq[String] = Seq("t-acme"),
      tenant: String = "acme",
      dryRun: Boolean = false,
      options: Options = sealing,
      also: Seq[String] = Nil,
      others: Seq[String] = Nil
  ): JsonNode = new ObjectMapper().readTree(
    Erasure.run(fresh, target, options, keys, Map("tenant" -> tenant), also, others, dryRun)
  )

  private val skip = Map("deniedFiles" -> "skip")
  private val others = range(9).filter(_ % 3 != 0)

  private def manifest(version: Long = versions().last, path: String = target): JsonNode =
    new ObjectMapper().readTree(Files.readAllLines(manifestOf(version, path)).get(0))

  private def certificates: Seq[Path] = {
    val all = Files.list(Paths.get(target, "_pme_erasures"))
    try all.iterator.asScala.filter(_.toString.endsWith(".json")).toList.sortBy(_.toString.length)
    finally all.close()
  }

  private def under(tenant: String): Path = files().find(_.toString.contains(s"tenant=$tenant/")).get

  /** What a verification finds: its file, its condition and what it says. */
  private def findings(options: Options = Map.empty): Seq[(String, String, String)] =
    Verification
      .verify(fresh, target, asking ++ verifying ++ options)
      .findings
      .select("file", "condition", "message")
      .collect()
      .map(row => (row.getString(0), row.getString(1), row.getString(2)))
      .toSeq

  /** Fails unless the erasure is refused, and no key is destroyed. */
  private def kept(condition: Condition, words: String*)(run: => Any): Unit = {
    untouched()(refused(condition, words: _*)(run))
    Seq("t-acme", "pii-acme", "footer").foreach(key => assert(!ErasingKms.isGone(key), key))
  }

  test("the next version lists the same files, and states the erasure with the digest of its certificate") {
    customers()
    val before = manifest()
    val plan = untouched()(erase(dryRun = true))
    assertEquals(plan.path("findings").size, 0)
    assertEquals(erase().path("state").asText, "complete")
    assertEquals(versions(), Seq(1L, 2L))
    assertEquals(manifest().path("parts"), before.path("parts"))
    val stated = manifest().at("/erasures/0")
    assertEquals(stated.path("keys").toString, """["t-acme"]""")
    assertEquals(stated.path("certificate").asText, certificates.head.toString)
    assertEquals(
      stated.path("sha256").asText,
      Sha256.hex(Sha256.ofBytes(Files.readAllBytes(certificates.head)))
    )
    for (scan <- scans) {
      refused(Condition.KeyDestroyed)(idsOf(options = scan))
      assertEquals(idsOf(options = skip ++ scan), others)
    }
    // Versions from before list the same files, which nobody reads any more.
    refused(Condition.KeyDestroyed)(idsOf(options = Map("snapshot" -> "1")))
    assertEquals(idsOf(options = skip + ("snapshot" -> "1")), others)
  }

  test("writes, seals and further erasures go on, and keep what was stated") {
    customers()
    erase()
    save(
      numbers(100, 3).selectExpr("id", "'x' AS name", "'bolt' AS tenant"),
      partitions = Seq("tenant"),
      options = writing
    )
    assertEquals(idsOf(options = skip), others ++ Seq(100L, 101L, 102L))
    erase(Seq("t-bolt"), "bolt")
    assertEquals(manifest().path("erasures").findValuesAsText("certificate").size, 2)
    assertEquals(idsOf(options = skip), others.filter(_ % 3 == 2))
    // After a restore without times, nobody could open the erased files to seal them again.
    files().foreach(age(_))
    Sealing.seal(fresh, target, sealing, None, None)
    assertEquals(idsOf(options = skip), others.filter(_ % 3 == 2))
    assertEquals(manifest().path("erasures").size, 2)
    val erased = under("acme")
    AlteredFile.replace(erased, Files.readAllBytes(under("bolt")))
    refused(Condition.KeyDestroyed)(Sealing.seal(fresh, target, sealing, None, Some("1")))
  }

  test("a verification says that erased files are there and were not opened, and finds what differs") {
    customers()
    assertEquals(findings(), Nil)
    erase()
    assertEquals(findings().size, 1)
    val (file, condition, message) = findings().head
    assert(file.contains("tenant=acme"), file)
    assertEquals(condition, "PME_KEY_DESTROYED")
    assert(message.contains("version 2, which states that key 't-acme' was destroyed by an erasure"), message)
    assert(message.contains("not opened"), message)
    assertEquals(findings(skip), findings())
    val (certificate, content) = (certificates.head, Files.readAllBytes(certificates.head))
    AlteredFile.replace(certificate, content ++ " ".getBytes)
    assert(findings().exists { case (file, _, why) =>
      file.endsWith(certificate.getFileName.toString) && why.contains("this is another one")
    })
    delete(certificate)
    assert(findings().exists(_._3.contains("this is missing")))
    Files.createDirectory(certificate)
    assert(findings().exists(_._3.contains("this cannot be read (")))
    Files.delete(certificate)
    AlteredFile.replace(certificate, content)
    val erased = under("acme")
    val bytes = Files.readAllBytes(erased)
    bytes(5) = (bytes(5) ^ 1).toByte
    AlteredFile.replace(erased, bytes)
    assert(
      findings().exists(one =>
        one._1.endsWith(erased.getFileName.toString) && one._2 == "PME_SNAPSHOT_MISMATCH"
      )
    )
    delete(erased)
    refused(Condition.SnapshotMismatch, "missing")(idsOf(options = skip))
  }

  test("a rotation leaves erased files as they are, and seals the others") {
    customers()
    erase()
    val (lost, kept) = (Files.readAllBytes(under("acme")).toSeq, Files.readAllBytes(under("bolt")).toSeq)
    val reports =
      Rotation.rotate(fresh, target, sealing, RotationSettings()).select("file", "condition").collect()
    val failed = reports.filterNot(_.isNullAt(1)).map(row => row.getString(0) -> row.getString(1)).toSeq
    assertEquals(failed.map(_._2), Seq("PME_KEY_DESTROYED"))
    assert(failed.head._1.contains("tenant=acme"), failed)
    assertEquals(Files.readAllBytes(under("acme")).toSeq, lost)
    assertNotEquals(Files.readAllBytes(under("bolt")).toSeq, kept)
    assertEquals(idsOf(options = skip), others)
    // Whoever wants to be rid of the files deletes them, and says so.
    delete(under("acme"))
    Sealing.seal(fresh, target, sealing, None, Some("1"))
    assertEquals(idsOf(), others)
    assertEquals(manifest().path("erasures").size, 1)
  }

  test("a rotation to other names is refused where erased files would keep the old ones") {
    customers(writing + ("columnKeys" -> "footer: name"))
    erase()
    def rotate(names: (String, String)*) =
      Rotation.rotate(fresh, target, sealing, RotationSettings(masterKeys = Some(names.toMap))).collect()
    untouched()(refused(Condition.Unsupported, "nobody can open tenant=acme")(rotate("footer" -> "pii-cafe")))
    untouched()(refused(Condition.Unsupported, "'t-acme' was destroyed")(rotate("t-acme" -> "pii-cafe")))
    untouched()(refused(Condition.Unsupported, "key 't-acme'")(rotate("footer" -> "t-acme")))
    assertEquals(idsOf(options = skip), others)
  }

  test("only the seal can state an erasure, and nobody else can hide or claim one") {
    customers()
    erase()
    val manifests = versions().map(version => manifestOf(version) -> Files.readString(manifestOf(version)))
    def altered(version: Int, change: String => String): Unit = {
      val (path, text) = manifests(version - 1)
      AlteredFile.replace(path, change(text).getBytes)
      refused(Condition.SnapshotNotAuthentic)(idsOf(options = skip))
      AlteredFile.replace(path, text.getBytes)
    }
    altered(2, _.replace("t-acme", "t-bolt"))
    altered(2, text => text.replaceAll(""""erasures":\[.*\]""", """"erasures":[]"""))
    // A certificate, or a note, that somebody has put there states nothing.
    val planted = new String(Files.readAllBytes(certificates.head)).replace("t-acme", "t-bolt")
    AlteredFile.replace(certificates.head.resolveSibling("erasure-0123456789abcdef.json"), planted.getBytes)
    ErasingKms.forgetsGone = true
    ErasingKms.known -= "t-bolt"
    // The erased file is left out, and this one is not.
    refused(Condition.KeyNotFound, "tenant=bolt")(idsOf(options = skip))
    assert(findings().exists { case (file, condition, _) =>
      file.contains("bolt") && condition == "PME_KEY_NOT_FOUND"
    })
    // Back to the version before the erasure: whoever knows the later one notices it.
    delete(manifestOf(2))
    refused(Condition.SnapshotNotAuthentic, "older")(idsOf(options = skip + ("minSnapshot" -> "2")))
  }

  test("a KMS that forgets what it destroyed: the seal says that this was an erasure") {
    customers()
    erase()
    ErasingKms.forgetsGone = true
    for (scan <- scans) refused(Condition.KeyDestroyed, "snapshot states")(idsOf(options = scan))
    assertEquals(idsOf(options = skip), others)
    assertEquals(findings().map(_._2), Seq("PME_KEY_DESTROYED"))
  }

  test("a run that was killed at any step is completed by the next") {
    def killed(): Nothing = throw new IllegalStateException("killed")
    customers()
    ErasingKms.onDestroy = _ => killed()
    intercept[Exception](erase())
    ErasingKms.onDestroy = _ => ()
    assertEquals(versions(), Seq(1L))
    assertEquals(erase().path("state").asText, "complete")
    assertEquals(manifest().path("erasures").size, 1)
    // After the certificate, and before the seal.
    delete(manifestOf(2))
    val first = Files.readAllBytes(certificates.head).toSeq
    assertEquals(erase().path("state").asText, "complete")
    assertEquals(Files.readAllBytes(certificates.head).toSeq, first)
    assertEquals(manifest().path("erasures").size, 1)
    assertEquals(manifest().at("/erasures/0/certificate").asText, certificates.last.toString)
    assertEquals(idsOf(options = skip), others)
    assertEquals(findings().map(_._2), Seq("PME_KEY_DESTROYED"))
    assert(!Files.list(Paths.get(target)).iterator.asScala.exists(_.toString.contains("rotating")))
  }

  // With a cache of keys, this process would open what is erased for some minutes.
  private lazy val uncached = asking + ("signingKey" -> "officer")

  test("files of other times are erased like any: their bytes show that they are the sealed ones") {
    customers()
    // As a restore without times.
    files().foreach(age(_))
    ErasingKms.onDestroy = _ => throw new IllegalStateException("killed")
    intercept[Exception](erase(options = uncached))
    ErasingKms.onDestroy = _ => ()
    assertEquals(erase(options = uncached).path("state").asText, "complete")
    assertEquals(manifest().at("/erasures/0/keys").toString, """["t-acme"]""")
    assertEquals(idsOf(options = skip), others)
    save(
      numbers(100, 1).selectExpr("id", "'x' AS name", "'bolt' AS tenant"),
      partitions = Seq("tenant"),
      options = writing
    )
    assertEquals(idsOf(options = skip), others :+ 100L)
  }

  test("a killed erasure of files of other times is completed after its key has gone") {
    customers()
    files().foreach(age(_))
    erase(options = uncached)
    // Before the seal.
    delete(manifestOf(2))
    files().foreach(age(_))
    erase(options = uncached)
    assertEquals(idsOf(options = skip), others)
  }

  test("erased files with key material beside them are left out, too, and a planted name is not believed") {
    customers(writing + ("keyMaterial" -> "external"))
    refused(Condition.KeyDenied) {
      ErasingKms.denied += "t-acme"
      idsOf(options = skip)
    }
    ErasingKms.denied -= "t-acme"
    erase()
    for (scan <- scans) assertEquals(idsOf(options = skip ++ scan), others)
    ErasingKms.denied += "t-bolt"
    refused(Condition.KeyDenied, "t-bolt")(idsOf(options = skip))
  }

  test("a verification finds erased files that open again") {
    customers()
    erase()
    ErasingKms.again("t-acme")
    assertEquals(findings().map(_._2), Seq("PME_SNAPSHOT_MISMATCH"))
    assert(findings().head._3.contains("'t-acme' was destroyed"), findings())
  }

  test("no key is made again whose destruction the seal states, and no file under such a key is sealed") {
    val orders = s"$target-orders"
    Seq(target, orders).foreach(customers(writing, _))
    erase(also = Seq(orders))
    ErasingKms.forgetsGone = true
    val late = numbers(100, 1).selectExpr("id", "'x' AS name", "'acme' AS tenant")
    def append(options: Options, to: String = orders) =
      save(late, to, Seq("tenant"), options, "append")
    untouched(orders)(
      refused(Condition.Unsupported, "key 't-acme'")(append(writing + ("createKeys" -> "true")))
    )
    assert(ErasingKms.isGone("t-acme"))
    // Somebody makes it elsewhere.
    ErasingKms.again("t-acme")
    untouched(orders)(refused(Condition.Unsupported, "key 't-acme'")(append(writing)))
    plant(late, orders, Seq("tenant"), writing - "snapshot")
    refused(Condition.Unsupported, "key 't-acme'")(Sealing.seal(fresh, orders, sealing, None, Some("2")))
  }

  test("nothing is destroyed if the next version could not be made") {
    val shared = erasing ++ Map("footerKey" -> "footer", "columnKeys" -> "pii-{tenant}: name")
    customers(shared)
    Sealing.seal(fresh, target, shared, minMax("id"), Some("unsealed"))
    ErasingKms.unwrapsOnly += "footer"
    kept(Condition.KeyDenied)(erase(Seq("pii-acme"), options = erasing))
    ErasingKms.unwrapsOnly -= "footer"
    // The list would be written again, since times differ.
    files().foreach(age(_))
    val before = snapshotFiles
    ErasingKms.onDestroy = _ => throw new IllegalStateException("killed")
    intercept[Exception](erase(Seq("pii-acme"), options = erasing))
    assertEquals(snapshotFiles, before)
  }

  private def snapshotFiles =
    Files.walk(snapshotsOf()).iterator.asScala.map(_.toString).filterNot(_.endsWith(".crc")).toSet

  test("a key that the snapshots of a table without erased files need is not destroyed") {
    val index = s"$target-index"
    customers()
    val shared = erasing ++ Map("footerKey" -> "footer")
    customers(shared, index)
    Sealing.seal(fresh, index, shared ++ Map("indexKeys" -> "t-acme: name"), minMax("name"), Some("unsealed"))
    for (dry <- Seq(true, false)) {
      def run() = erase(others = Seq(index), dryRun = dry)
      if (dry) assertEquals(run().at("/findings/0/kind").asText, "sealed")
      else kept(Condition.Erasure, "an index minMax(name)")(run())
    }
  }

  test("nothing is destroyed if the table is not as sealed, or could not be sealed afterwards") {
    customers()
    kept(Condition.SnapshotNotAuthentic)(erase(options = erasing))
    kept(Condition.BadOption, "signingKey")(erase(options = erasing ++ verifying))
    kept(Condition.BadOption, "verifyKey")(
      erase(options = erasing ++ verifying + ("signingKey" -> "mallory"))
    )
    val planted = Files.copy(under("acme"), Paths.get(target, "tenant=acme", "planted.parquet"))
    kept(Condition.SnapshotMismatch, "planted")(erase())
    assertEquals(erase(dryRun = true).at("/findings/0/kind").asText, "sealed")
    delete(planted)
    delete(under("acme"))
    kept(Condition.Erasure, "none of its files")(erase())
  }

  test("a key that the snapshots themselves need is not destroyed") {
    val shared = erasing ++ Map("footerKey" -> "footer", "columnKeys" -> "pii-acme: name")
    save(numbers().selectExpr("id", "'x' AS name"), options = shared)
    seal(options = shared, session = fresh)
    kept(Condition.Erasure, "is itself under key 'footer'") {
      Erasure.run(fresh, target, erasing, Seq("footer", "pii-acme"), dryRun = false)
    }
  }

  test("a column of a customer is erased where footers have a key of all, and the seal is an HMAC") {
    val shared = erasing ++ Map("footerKey" -> "footer", "columnKeys" -> "pii-{tenant}: name")
    customers(shared)
    Sealing.seal(fresh, target, shared, minMax("id"), Some("unsealed"))
    kept(Condition.Erasure, "an HMAC")(erase(Seq("pii-acme")))
    assertEquals(erase(Seq("pii-acme"), options = erasing).path("state").asText, "complete")
    assertEquals(manifest().at("/erasures/0/keys").toString, """["pii-acme"]""")
    val read = fresh.read.format("pme-parquet").options(erasing).load(target)
    assertEquals(ids(read), range(9))
    refused(Condition.KeyDestroyed, "name")(read.select("name").collect())
    assertEquals(read.where("tenant = 'bolt'").select("name").count(), 3L)
    val found = Verification.verify(fresh, target, erasing).findings.select("column", "message").collect()
    assertEquals(found.map(_.getString(0)).toSeq.distinct, Seq("name"))
    assert(found.forall(_.getString(1).contains("'pii-acme' was destroyed by an erasure")), found.mkString)
  }

  test("an erasure is refused while any version has an index with values of the column") {
    val shared = erasing ++ Map("footerKey" -> "footer", "columnKeys" -> "pii-acme: name")
    save(numbers(0, 9).selectExpr("id", "concat('name-', id) AS name"), options = shared)
    Sealing.seal(fresh, target, shared, minMax("name"), Some("unsealed"))
    def all() = Erasure.run(fresh, target, erasing, Seq("pii-acme"), dryRun = false)
    kept(Condition.Erasure, "version 1", "an index minMax(name)")(all())
    Sealing.dropIndexes(fresh, target, erasing, Seq("name"))
    kept(Condition.Erasure, "version 1", "an index minMax(name)")(all())
    delete(manifestOf(1))
    all()
    refused(Condition.KeyDestroyed)(
      fresh.read.format("pme-parquet").options(erasing).load(target).select("name").collect()
    )
  }

  test("each sealed table of an erasure states it, and one that is only looked at stays as it is") {
    val (orders, bills) = (s"$target-orders", s"$target-bills")
    Seq(target, orders).foreach(customers(writing, _))
    customers(writing + ("footerKey" -> "footer"), bills)
    untouched(bills)(erase(also = Seq(orders), others = Seq(bills)))
    assertEquals(manifest(2, orders).path("erasures"), manifest(2).path("erasures"))
    assertEquals(idsOf(orders, skip), others)
    assertEquals(idsOf(bills), range(9))
  }
}
