package io.pmeparquet.spark.admin.erase

import java.nio.file.{Files, Path, Paths, StandardCopyOption}

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.commons.io.FileUtils

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.spark.admin.seal.Sealing
import io.pmeparquet.spark.KeystoreSuite

/** Erasures that are killed, and that somebody interferes with: with a KMS that does what a test says. */
class ErasureAttacksSuite extends KeystoreSuite {
  private val erasing = Map("kms" -> classOf[ErasingKms].getName)

  override protected def keystoreOptions: Map[String, String] = erasing

  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    ErasingKms.reset("t-acme", "t-bolt", "t-cafe", "c-acme", "t-new")
  }

  private def erase(
      keys: Seq[String] = Seq("t-acme"),
      tenant: String = "acme",
      dryRun: Boolean = false,
      options: Map[String, String] = Map.empty
  ): JsonNode = new ObjectMapper().readTree(
    Erasure.run(spark, target, erasing ++ options, keys, Map("tenant" -> tenant), dryRun = dryRun)
  )

  private def records: Seq[Path] = {
    val all = Files.list(Paths.get(target, "_pme_erasures"))
    try all.iterator.asScala.filter(_.toString.endsWith(".json")).toList.sortBy(_.toString.length)
    finally all.close()
  }

  private def record: Path = records.head

  private def noted: JsonNode = new ObjectMapper().readTree(Files.readAllLines(record).get(0))

  /** A copy of a file of one tenant in the directory of another. */
  private def copied(from: String, to: String): Path = {
    val file = files().find(_.toString.contains(s"tenant=$from")).get
    val place = Paths.get(target, s"tenant=$to", s"copied-${file.getFileName}")
    Files.copy(file, place, StandardCopyOption.REPLACE_EXISTING)
  }

  test("a file that comes under the key before the destruction stops it") {
    writeTo(target)
    ErasingKms.onWrap = () => { copied("acme", "bolt"); () }
    refused(Condition.Erasure, "added or removed meanwhile")(erase())
    assert(!ErasingKms.isGone("t-acme"))
    assert(!Files.exists(Paths.get(target, "_pme_erasures")), "a run that destroyed nothing leaves no note")
  }

  test(
    "a file that comes under the key during the destruction is named, and the certificate does not hide it"
  ) {
    writeTo(target)
    ErasingKms.onDestroy = _ => { copied("acme", "bolt"); () }
    refused(Condition.Erasure, "copied-", "it came while")(erase())
    assertEquals(noted.path("state").asText, "unproven")
    assertEquals(noted.at("/findings/0/kind").asText, "late")
  }

  test("a table that is sealed meanwhile does not state the erasure, so another run has to") {
    writeTo(target)
    Sealing.seal(spark, target, erasing ++ byTenant + ("signingKey" -> "signer"), None, Some("unsealed"))
    val (sealedBy, aside) = (Paths.get(target, "_pme_snapshots"), directory.resolve("aside"))
    Files.move(sealedBy, aside)
    ErasingKms.onWrap = () => if (Files.exists(aside)) { Files.move(aside, sealedBy); () }
    refused(Condition.Erasure, "sealed meanwhile", "no key was destroyed")(erase())
    assert(!ErasingKms.isGone("t-acme"))
    ErasingKms.onWrap = () => ()
    Files.move(sealedBy, aside)
    ErasingKms.onDestroy = _ => { Files.move(aside, sealedBy); () }
    val text = refused(Condition.Erasure, "sealed meanwhile", "Run it again")(erase())
    assert(!text.contains("no key was destroyed"), text)
    assert(ErasingKms.isGone("t-acme"))
  }

  test("a KMS that goes on using a key that it says is destroyed proves nothing") {
    writeTo(target)
    ErasingKms.lies = true
    refused(Condition.Erasure, "still uses this key")(erase())
    assertEquals(noted.path("state").asText, "begun")
    // Another place, which knows nothing, would answer so: what the key wrapped is in the note.
    ErasingKms.forgetsGone = true
    refused(Condition.Erasure, "still uses this key")(erase())
    assertEquals(noted.path("probes").size, 1)
  }

  test(
    "with audit=require the record has what was asked for and done, and without one nothing is destroyed"
  ) {
    writeTo(target)
    val nowhere = Map("audit" -> "require", "audit.file" -> directory.resolve("none/keys.jsonl").toString)
    refused(Condition.Erasure, "no key was destroyed", "PME_AUDIT_FAILED")(erase(options = nowhere))
    assert(!ErasingKms.isGone("t-acme"))
    val file = directory.resolve("keys.jsonl")
    erase(options = Map("audit" -> "require", "audit.file" -> file.toString))
    val uses =
      Files.readAllLines(file).asScala.map(new ObjectMapper().readTree(_)).filter(_.has("master_key"))
    assertEquals(uses.map(_.path("purpose").asText).distinct.toSeq, Seq("erase"))
    assertEquals(uses.map(_.path("table").asText).distinct.toSeq, Seq(s"file:$target"))
    val destroyed = uses.filter(_.path("action").asText == "destroy").map(_.path("result").asText)
    assertEquals(destroyed.toSeq, Seq("asked", "granted"))
  }

  test("a column whose key material is beside the file, and does not open, stops an erasure") {
    writeTo(target, "columnKeys" -> "t-new: name", "keyMaterial" -> "external")
    ErasingKms.denied = Set("t-new")
    refused(Condition.Erasure, "could not be looked at", "PME_KEY_DENIED")(erase())
    assert(!ErasingKms.isGone("t-acme"))
  }

  test("a key that this user may not unwrap with is not destroyed, because nothing would prove it") {
    writeTo(target, "columnKeys" -> "c-acme: name")
    ErasingKms.denied = Set("c-acme")
    refused(Condition.Erasure, "PME_KEY_DENIED")(erase(keys = Seq("t-acme", "c-acme")))
    assert(!ErasingKms.isGone("c-acme"))
  }

  test("a KMS that does not forget its keys cannot lack one, whatever a record says") {
    writeTo(target)
    erase()
    ErasingKms.reset("t-bolt", "t-cafe")
    refused(Condition.KeyNotFound)(erase())
  }

  test("a key whose destruction stopped in between is not taken for kept, and the next run completes it") {
    writeTo(target)
    ErasingKms.onDestroy = { name =>
      ErasingKms.spent = Set(name)
      throw new IllegalStateException("killed")
    }
    refused(Condition.Erasure, "has begun")(erase())
    val begun = noted
    ErasingKms.onDestroy = _ => ()
    assertEquals(erase().path("totals"), begun.path("totals"))
    assert(ErasingKms.isGone("t-acme"))
  }

  test("an id that is none in this KMS keeps the keys, and names its file") {
    writeTo(target)
    ErasingKms.odd = Set("t-cafe")
    refused(Condition.Erasure, "tenant=cafe", "no key of this KMS")(erase())
    assert(!ErasingKms.isGone("t-acme"))
  }

  test("the mark of another operation keeps the keys, and that of a run is there for as long as it runs") {
    writeTo(target)
    val others = Files.createFile(Paths.get(target, ".pme-rotating-0123456789abcdef"))
    intercept[Exception](erase())
    assert(!ErasingKms.isGone("t-acme"))
    Files.delete(others)
    def marks = Paths.get(target).toFile.list().count(_.startsWith(".pme-rotating-"))
    var during = 0
    ErasingKms.onDestroy = _ => during = marks
    erase()
    assertEquals((during, marks), (1, 0))
  }

  test("key material that changes meanwhile stops it") {
    writeTo(target, "keyMaterial" -> "external")
    ErasingKms.onWrap = { () =>
      val material = allFiles(target).find(_.toString.contains("_KEY_MATERIAL")).get
      Files.writeString(material, Files.readString(material) + " ")
      ()
    }
    refused(Condition.Erasure, "added or removed meanwhile")(erase())
    assert(!ErasingKms.isGone("t-acme"))
  }

  test("a key that a record calls destroyed is not made again, where the KMS forgets") {
    writeTo(target)
    ErasingKms.forgetsGone = true
    erase()
    refused(Condition.KeyDestroyed, "'t-acme'")(writeTo(target, "createKeys" -> "true"))
  }

  test(
    "a record of other keys does not count, and files that were closed before are listed with their keys"
  ) {
    writeTo(target)
    val ofAcme = {
      erase()
      record
    }
    val done = erase(Seq("t-bolt"), "bolt")
    assert(done.at("/closed_before/0/file").asText.contains("tenant=acme"), done.path("closed_before"))
    assertEquals(done.at("/closed_before/0/keys/0").asText, "t-acme")
    val ofBolt = records.find(_ != ofAcme).get
    Files.copy(ofBolt, ofAcme, StandardCopyOption.REPLACE_EXISTING)
    refused(Condition.Erasure, "is of other keys")(erase())
  }

  test("what a killed write of a record left keeps nobody") {
    writeTo(target)
    Files.createDirectory(Paths.get(target, "_pme_erasures"))
    Files.writeString(Paths.get(target, "_pme_erasures", ".pme-rotation-half"), "{\"form")
    assertEquals(erase().path("state").asText, "complete")
  }

  test("a run that was killed between two keys is completed, with the facts from before") {
    ErasingKms.onDestroy = id => if (id == "t-acme") throw new IllegalStateException("killed")
    writeOnlyAcme()
    val keys = Seq("c-acme", "t-acme")
    intercept[Exception](erase(keys))
    assert(ErasingKms.isGone("c-acme") && !ErasingKms.isGone("t-acme"))
    val begun = noted
    ErasingKms.onDestroy = _ => ()
    val done = erase(keys)
    assertEquals(done.path("state").asText, "complete")
    Seq("totals", "begun_at").foreach(name => assertEquals(done.path(name), begun.path(name), name))
    assertEquals(done.at("/keys/1/until").asText, "2027-01-15")
  }

  private def writeOnlyAcme(): Unit =
    spark
      .range(5)
      .selectExpr("id", "concat('canary-', id) AS name", "'acme' AS tenant")
      .write
      .format("pme-parquet")
      .options(erasing ++ byTenant ++ Map("columnKeys" -> "c-acme: name"))
      .partitionBy("tenant")
      .save(target)

  test("a KMS that forgets what it destroyed: the record says that this was no slip") {
    writeTo(target)
    ErasingKms.forgetsGone = true
    assertEquals(erase().path("state").asText, "complete")
    assertEquals(erase().path("state").asText, "complete")
    // Who signs believes only what is signed.
    val signing = Map("signingKey" -> "officer")
    refused(Condition.Erasure, "tenant=acme", "could not be looked at") {
      erase(Seq("t-bolt"), "bolt", options = signing)
    }
    assertEquals(erase(Seq("t-bolt"), "bolt").path("state").asText, "complete")
    refused(Condition.KeyNotFound)(erase(Seq("t-nobody"), "nobody"))
    FileUtils.deleteDirectory(Paths.get(target, "_pme_erasures").toFile)
    refused(Condition.KeyNotFound)(erase())
  }

  test("a planted record does not hide a file that this user may not open") {
    writeTo(target)
    erase(Seq("t-bolt"), "bolt")
    val planted = Files.readString(record).replace("t-bolt", "t-cafe")
    Files.writeString(record.resolveSibling("erasure-0123456789abcdef.json"), planted)
    ErasingKms.denied = Set("t-cafe")
    refused(Condition.Erasure, "tenant=cafe", "could not be looked at")(erase())
    // Nor one that the KMS forgot for other reasons: the record lists none of its files.
    ErasingKms.denied = Set.empty
    ErasingKms.known -= "t-cafe"
    ErasingKms.forgetsGone = true
    refused(Condition.Erasure, "tenant=cafe", "could not be looked at")(erase())
    assert(!ErasingKms.isGone("t-acme"))
  }

  test("who may not read a column of others can erase, since footers name the keys of columns") {
    writeTo(target, "columnKeys" -> "t-new: name")
    ErasingKms.denied = Set("t-new")
    val done = erase()
    assertEquals(done.path("state").asText, "complete")
    assertEquals(done.at("/totals/columns_left_readable").size, 0)
  }

  test("rows under another alias of the same key are seen") {
    writeTo(target)
    spark
      .range(3)
      .selectExpr("id", "'x' AS name", "'bolt' AS tenant")
      .write
      .format("pme-parquet")
      .options(erasing ++ Map("footerKey" -> "alias/t-acme"))
      .partitionBy("tenant")
      .mode("append")
      .save(target)
    refused(Condition.Erasure, "tenant=bolt", "outside of tenant=acme")(erase())
    assert(!ErasingKms.isGone("t-acme"))
  }

  test("a record is signed, and one by somebody else is refused before anything is destroyed") {
    writeTo(target)
    val signing = Map("signingKey" -> "officer")
    val done = erase(options = signing)
    val lines = Files.readAllLines(record)
    assertEquals(lines.size, 2)
    assert(new ObjectMapper().readTree(lines.get(1)).path("signature").asText.nonEmpty)
    assertEquals(erase(options = signing).path("totals"), done.path("totals"))
    assertEquals(records.size, 2)
    assertEquals(Files.readAllLines(record), lines)
    Files.write(
      records.last,
      (lines.get(0).replace("\"rows\":10", "\"rows\":99") + "\n" + lines.get(1) + "\n").getBytes
    )
    refused(Condition.Erasure, "is not signed")(erase(options = signing))
    refused(Condition.Erasure, "is not signed")(erase(options = Map("signingKey" -> "mallory")))
  }

  test("a link in the place of the record is not followed") {
    writeTo(target)
    val other = Files.writeString(directory.resolve("other"), "mine")
    erase()
    val place = record
    Files.delete(place)
    Files.createSymbolicLink(place, other)
    ErasingKms.reset("t-acme", "t-bolt", "t-cafe")
    val failed = intercept[Exception](erase())
    assert(PmeException.find(failed).isDefined, failed)
    assertEquals(Files.readString(other), "mine")
    assert(!ErasingKms.isGone("t-acme"))
  }
}
