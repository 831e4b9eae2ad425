package io.pmeparquet.spark.admin.erase

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path, Paths}
import java.util.{Base64, Locale}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.commons.io.FileUtils

import io.pmeparquet.{Condition, Sha256}
import io.pmeparquet.spark.KeystoreSuite

/** Rows of a customer are erased with the customer's key, and nobody else's are. */
class ErasureSuite extends KeystoreSuite {
  private val tenants = Seq("acme", "bolt", "cafe")

  /** A table with a key for each tenant. */
  private def customers(more: (String, String)*): Unit = {
    makeKeys(tenants.map("t-" + _) ++ Seq("pii", "footer"): _*)
    writeTo(target, more: _*)
  }

  private def erase(
      keys: Seq[String] = Seq("t-acme"),
      partitions: Map[String, String] = Map("tenant" -> "acme"),
      dryRun: Boolean = false,
      also: Seq[String] = Nil,
      others: Seq[String] = Nil,
      options: Map[String, String] = Map.empty
  ): JsonNode = new ObjectMapper().readTree(
    Erasure.run(spark, target, keystoreOptions ++ options, keys, partitions, also, others, dryRun)
  )

  private def count(more: (String, String)*): Long =
    reader(keystoreOptions ++ more).load(target).count()

  /** Fails unless the erasure is refused, and the keystore is as it was. */
  private def kept(words: String*)(run: => Any): Unit =
    untouched(keystore.toString)(refused(Condition.Erasure, "no key was destroyed" +: words: _*)(run))

  private def recordFile: Path =
    Files.list(Paths.get(target, "_pme_erasures")).filter(_.toString.endsWith(".json")).findFirst.get

  test("a dry run says what a key opens, and changes nothing") {
    customers()
    val plan = untouched()(untouched(keystore.toString)(erase(dryRun = true)))
    assertEquals(plan.path("state").asText, "planned")
    assertEquals(plan.path("findings").size, 0)
    assertEquals(plan.path("totals").path("rows").asLong, 10L)
    assertEquals(plan.path("keys").get(0).path("state").asText, "usable")
    val files = plan.path("files")
    assert(files.size > 0)
    files.forEach { file =>
      assertEquals(file.path("partition").asText, "tenant=acme")
      assertEquals(file.path("columns").toString, """["id","name"]""")
      assertEquals(file.path("left").size, 0)
    }
    assertEquals(count(), 30L)
  }

  test("after an erasure the customer's files say that the key is destroyed, and the others read as before") {
    customers()
    val certificate = erase()
    assertEquals(certificate.path("state").asText, "complete")
    assertEquals(certificate.path("keys").get(0).path("state").asText, "destroyed")
    assertEquals(certificate.at("/evidence/kms_refuses/0/condition").asText, "PME_KEY_DESTROYED")
    val lost = certificate.path("files").size
    assertEquals(certificate.path("evidence").path("files_that_fail_to_open").asInt, lost)
    assertEquals(certificate.path("evidence").path("files_as_before").asInt, files().size - lost)
    refused(Condition.KeyDestroyed)(count())
    assertEquals(tenantsRead("deniedFiles" -> "skip"), Set("bolt", "cafe"))
    assertEquals(count("deniedFiles" -> "skip"), 20L)
    val page = Files.readString(Paths.get(recordFile.toString.replace(".json", ".txt")))
    assert(
      page.contains("Rows: 10, in") && page.contains("t-acme: destroyed") && page.contains(
        "backups of the KMS"
      ),
      page
    )
  }

  test("what an erasure and a record of key use leave has no value of a row, and no key in any form") {
    customers()
    val log = directory.resolve("keys.jsonl")
    erase(options = Map("audit" -> "require", "audit.file" -> log.toString))
    val left = allFiles(directory.toString).filterNot(file => file == keystore || file.endsWith("password"))
    assert(left.contains(log) && left.exists(_.startsWith(recordFile.getParent)), left.mkString("\n"))
    val keys = (tenants.map("t-" + _) ++ Seq("pii", "footer")).map(name => Sha256.ofTexts(Seq(name)))
    val forms = Seq[Array[Byte] => String](
      new String(_, ISO_8859_1),
      Sha256.hex(_),
      Sha256.hex(_).toUpperCase(Locale.ROOT),
      Base64.getEncoder.withoutPadding.encodeToString(_),
      Base64.getUrlEncoder.withoutPadding.encodeToString(_)
    )
    val secrets = "canary-" +: (for (key <- keys; form <- forms) yield form(key))
    for (file <- left) {
      val content = new String(Files.readAllBytes(file), ISO_8859_1)
      assertEquals(secrets.count(content.contains(_)), 0, file)
    }
  }

  test("files that state a customer are erased, and what states nothing keeps the key") {
    makeKeys(tenants.map("t-" + _) ++ Seq("pii", "footer"): _*)
    tenantRows.save(target)
    val plan = erase(dryRun = true)
    assertEquals(plan.path("findings").size, 0)
    assertEquals(plan.path("totals").path("rows").asLong, 10L)
    plan.path("files").forEach(file => assertEquals(file.path("partition").asText, "tenant=acme"))
    kept("names no partition")(erase(partitions = Map.empty))
    kept("tenant=acme")(erase(partitions = Map("tenant" -> "bolt")))
    // It has rows of all three.
    val before = files().toSet
    tenantRows.option("footerKey", "footer").save(target)
    kept("does not state its value of tenant")(erase())
    files().filterNot(before).foreach(Files.delete)
    val done = erase()
    assertEquals(done.path("state").asText, "complete")
    assertEquals(tenantsRead("deniedFiles" -> "skip"), Set("bolt", "cafe"))
    assertEquals(erase().path("totals"), done.path("totals"))
    erase(Seq("t-bolt"), Map("tenant" -> "bolt"))
    assertEquals(tenantsRead("deniedFiles" -> "skip"), Set("cafe"))
  }

  test("another erasure on the same table is not kept by files that are erased already") {
    customers()
    erase()
    erase(Seq("t-bolt"), Map("tenant" -> "bolt"))
    assertEquals(tenantsRead("deniedFiles" -> "skip"), Set("cafe"))
  }

  test("an erasure that is run again finds its own, and keeps what was noted") {
    customers()
    val first = erase()
    val second = erase()
    assertEquals(second.path("state").asText, "complete")
    Seq("totals", "files", "begun_at").foreach(name => assertEquals(second.path(name), first.path(name)))
  }

  test("a run that was killed after the destruction is completed by the next, with the facts from before") {
    customers()
    val begun = erase()
    val note = new ObjectMapper().readTree(Files.readAllLines(recordFile).get(0)).asInstanceOf[ObjectNode]
    note
      .put("state", "begun")
      .remove(java.util.Arrays.asList("proved_at", "evidence", "not_covered", "findings"))
    Files.writeString(recordFile, note.toString + "\n")
    val done = erase()
    assertEquals(done.path("state").asText, "complete")
    assertEquals(done.path("totals"), begun.path("totals"))
  }

  test("a key that is destroyed without a note is proved, and no number of rows is made up") {
    customers()
    erase()
    FileUtils.deleteDirectory(Paths.get(target, "_pme_erasures").toFile)
    val again = erase()
    assertEquals(again.path("state").asText, "complete")
    assertEquals(again.at("/evidence/kms_refuses/0/condition").isNull, true)
    assert(!again.path("totals").has("rows"))
    assert(again.path("totals").path("files").asInt > 0)
  }

  test("a key that nobody knows is an error, in a dry run as well") {
    customers()
    Seq(true, false).foreach { dryRun =>
      refused(Condition.KeyNotFound)(erase(Seq("t-acmee"), dryRun = dryRun))
    }
  }

  test("a partitioned table needs the partition, and a key with rows outside of it stays") {
    customers()
    kept("names no partition")(erase(partitions = Map.empty))
    kept("tenant=acme")(erase(partitions = Map("tenant" -> "bolt")))
    writeTo(target, "footerKey" -> "t-acme")
    val shared = erase(dryRun = true)
    assert(shared.path("findings").size > 0)
    shared.path("findings").forEach(one => assert(Set("shared")(one.path("kind").asText), one.toString))
    kept("outside of tenant=acme")(erase())
  }

  test("rows of the partition that are not under the keys are not passed over") {
    customers()
    writeTo(target, "footerKey" -> "footer")
    kept("stay readable")(erase())
  }

  test("without partitions every file is meant, and a key that none of them has is not destroyed") {
    makeKeys("pii", "pii2")
    write(people, keystoreOptions + ("uniformKey" -> "pii2"))
    kept("none of its files is under key 'pii'")(erase(Seq("pii"), Map.empty))
    people.write
      .format("pme-parquet")
      .options(keystoreOptions + ("uniformKey" -> "pii"))
      .mode("append")
      .save(target)
    kept("stay readable")(erase(Seq("pii"), Map.empty))
    assertEquals(erase(Seq("pii", "pii2"), Map.empty).path("state").asText, "complete")
  }

  test("columns are opened even where a readable footer shows them, and the page says what stays readable") {
    makeKeys("footer", "pii")
    val columns = Map("footerKey" -> "footer", "plaintextFooter" -> "true", "columnKeys" -> "pii: ssn")
    write(people, keystoreOptions ++ columns)
    val done = erase(Seq("pii"), Map.empty)
    assertEquals(done.path("state").asText, "complete")
    assertEquals(done.at("/evidence/files_that_fail_to_open").asInt, files().size)
    val page = Files.readString(Paths.get(recordFile.toString.replace(".json", ".txt")))
    assert(page.contains("stay readable:\n  id\n  salary\n"), page)
  }

  test("ORC files are refused, whose destruction nothing would prove") {
    makeKeys("pii")
    people.write.format("pme-orc").options(keystoreOptions + ("columnKeys" -> "pii: ssn")).save(target)
    kept("ORC")(erase(Seq("pii"), Map.empty))
    assertEquals(
      erase(Seq("pii"), Map.empty, dryRun = true).at("/files/0/left").toString,
      """["id","salary"]"""
    )
  }

  test("files that readers pass over keep the keys, also beside our records") {
    customers()
    val rows = Files.readAllBytes(files().head)
    Seq("_temporary/0/part.parquet", "_pme_erasures_old/part.parquet", "_pme_erasures/part.parquet").foreach {
      name =>
        val hidden = Paths.get(target, name)
        Files.createDirectories(hidden.getParent)
        Files.write(hidden, rows)
        kept(name.split('/').head, "readers pass it over")(erase())
        FileUtils.deleteDirectory(Paths.get(target, name.split('/').head).toFile)
    }
  }

  test("a link to another directory keeps the keys") {
    customers()
    val place = Paths.get(target, "tenant=acme")
    val moved = Files.move(place, directory.resolve("tenant=acme"))
    Files.createSymbolicLink(place, moved)
    untouched(keystore.toString)(refused(Condition.Unsupported, "link")(erase()))
  }

  test("a further run keeps the certificate, and files that are gone since") {
    customers()
    val first = erase()
    val (file, content) = (recordFile, Files.readString(recordFile))
    val lost = files().filter(_.toString.contains("tenant=acme"))
    lost.foreach(Files.delete)
    val second = erase()
    assertEquals(Files.readString(file), content)
    assertEquals(second.path("totals"), first.path("totals"))
    second.path("files").forEach(one => assertEquals(one.path("there").asBoolean(true), false))
    assertEquals(second.at("/evidence/files_that_fail_to_open").asInt, 0)
  }

  test("a column that keeps its own key is said to stay readable, where the footer is") {
    customers("plaintextFooter" -> "true", "columnKeys" -> "pii: name")
    val plan = erase(dryRun = true)
    assertEquals(plan.path("totals").path("columns").toString, """["id"]""")
    assertEquals(plan.path("totals").path("columns_left_readable").toString, """["name"]""")
  }

  test("material beside the file leaves a column to its own key") {
    customers("keyMaterial" -> "external", "columnKeys" -> "pii: name")
    val plan = erase(dryRun = true)
    assertEquals(plan.path("totals").path("columns_left_readable").toString, """["name"]""")
  }

  test("a file that cannot be looked at keeps the keys") {
    customers()
    Files.writeString(Paths.get(target, "tenant=bolt", "part-garbage.parquet"), "PAR1 no such file PAR1")
    kept("could not be looked at")(erase())
  }

  test("another table under the key keeps it, unless it is named") {
    customers()
    val orders = directory.resolve("orders").toString
    addTo(orders)
    kept("another table")(erase(others = Seq(orders)))
    val done = erase(also = Seq(orders), others = Seq(orders))
    assertEquals(done.path("totals").path("rows").asLong, 20L)
    refused(Condition.KeyDestroyed)(reader(keystoreOptions).load(orders).count())
  }

  test("an older keystore that is put back reads again, and a new run destroys the key once more") {
    customers()
    val old = Files.readAllBytes(keystore)
    erase()
    Files.write(keystore, old)
    assertEquals(count(), 30L)
    assertEquals(erase().path("state").asText, "complete")
    refused(Condition.KeyDestroyed)(count())
  }

  test("a KMS that destroys no keys, a part of a table and a snapshot that is none are refused") {
    customers()
    val keys = Seq("t-acme")
    refused(Condition.Unsupported)(Erasure.run(spark, target, holding("t-acme"), keys, dryRun = false))
    refused(Condition.BadOption)(Erasure.run(spark, s"$target/tenant=acme", keystoreOptions, keys))
    Files.createDirectories(Paths.get(target, "_pme_snapshots"))
    Files.writeString(Paths.get(target, "_pme_snapshots", "snapshot-0000000001.json"), "{}")
    untouched(keystore.toString)(refused(Condition.SnapshotDamaged)(erase()))
    assertEquals(erase(dryRun = true).at("/findings/0/kind").asText, "sealed")
  }

  test("a record of another table does not count") {
    customers()
    erase()
    val record = recordFile
    Files.writeString(record, Files.readString(record).replace(target, "/other"))
    kept("is of another table")(erase())
  }
}
