package io.pmeparquet.spark.admin.doctor

import java.nio.file.Files

import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.admin.Doctor
import io.pmeparquet.spark.SparkSuite

/** What the doctor finds in a running session: its KMS and keys, its settings, and misspelt names. */
class SessionDoctorSuite extends SparkSuite {

  /** All checks but those of the installation, and of AES, which take their time to measure it. */
  private def examine(
      options: Map[String, String],
      session: SparkSession = spark
  ): Map[String, Check] = named(
    SettingChecks.all(session, options) ++
      new KmsChecks(session, options).all(executorsWork = true) ++
      DeltaChecks.all(session)
  )

  private def named(checks: Seq[Check]): Map[String, Check] = {
    for (check <- checks) {
      assert(Set("ok", "warning", "problem")(check.status) && check.found.nonEmpty, check)
      assertEquals(check.remedy.isEmpty, check.status == "ok", check)
    }
    checks.map(check => check.name -> check).toMap
  }

  private def assertFound(check: Check, status: String, words: String*): Unit = {
    assertEquals(check.status, status, check)
    words.foreach(word => assert(s"${check.found}\n${check.remedy}".contains(word), s"no '$word': $check"))
  }

  test("each named key is tried by the driver and an executor, and AES is measured") {
    val options = holding("footer", "pii") ++ Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn")
    val checks = named(Doctor.examine(spark, options))
    assert(
      checks.keySet.exists(_.startsWith("AES")) && examine(options).keySet.subsetOf(checks.keySet),
      checks
    )
    for (key <- Seq("footer", "pii")) {
      assertFound(checks(s"key '$key' from driver"), "ok", "wrapped in ")
      assertFound(checks(s"key '$key' from executor"), "ok", "through the driver, unwrapped in ")
    }
    assertFound(checks("executors"), "ok", "none: tasks run in the driver (local[2])")
    for (speed <- Seq("(128 bits, modules of 64 KiB)", "(256 bits, modules of 1024 KiB)"))
      assert(checks("AES speed on the driver").found.contains(s"GB/s $speed"), checks)
    assert(checks("AES provider on the driver").found.nonEmpty)
    assertEquals(checks("Spark").found, spark.version)
  }

  for (
    (management, from, driver, executor) <- Seq(
      ("direct", None, "fetched in ", "through the driver, fetched in "),
      ("direct", Some("executor"), "fetched in ", "by itself, fetched in "),
      ("envelope", Some("executor"), "wrapped in ", "by itself, unwrapped in ")
    )
  )
    test(s"executors get keys from the driver, or call the KMS themselves: $management, $from") {
      val checks = examine(
        holding("footer") ++ Map("uniformKey" -> "footer", "keyManagement" -> management) ++
          from.map("kms.callFrom" -> _)
      )
      assert(checks("key 'footer' from driver").found.startsWith(driver), checks)
      assert(checks("key 'footer' from executor").found.startsWith(executor), checks)
      assertEquals(checks("KMS").found.contains("kms.callFrom=executor"), from.isDefined, checks("KMS"))
    }

  test("without a KMS and table formats, nothing is checked of them") {
    val checks = examine(Map.empty)
    assertFound(checks("KMS"), "warning", "none is named, so none was called", "Name one: ")
    val others = checks.keySet.filter(name =>
      name.startsWith("Delta") || name.startsWith("Iceberg") || name.contains("factory")
    )
    assertEquals(others, Set.empty[String])
  }

  test("settings of the session that bypass the format are named, a KMS without keys is opened") {
    val secret = "AAECAwQFBgcICQoLDA0ODw=="
    set(
      Map(
        "parquet.encryption.key.list" -> s"k:$secret",
        "parquet.crypto.factory.class" -> "com.example.Factory",
        "spark.sql.catalog.lake" -> "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.encryption.kms-impl" -> "org.example.NoClient"
      )
    )
    val checks = examine(holding("footer"))
    val both = "uses parquet.crypto.factory.class, parquet.encryption.key.list"
    assertFound(checks("Hadoop settings"), "warning", both, "Remove them")
    assertFound(checks("KMS"), "warning", "no key is named", "Name keys: ")
    assert(
      checks("Iceberg catalog 'lake'").found.contains("NoClient, which is not on the class path"),
      checks
    )
    assert(!checks.toString.contains(secret))
    // Of the session that is examined, whichever is active.
    val other = spark.newSession()
    assertEquals(examine(Map.empty, other).keySet.filter(_.startsWith("Iceberg")), Set.empty[String])
    SparkSession.setActiveSession(other)
    assertFound(examine(Map.empty)("Hadoop settings"), "warning", both)
  }

  test("each key that the KMS refuses is a problem, and no other key is") {
    val checks =
      examine(kms ++ Map("footerKey" -> "k", "columnKeys" -> "denied key: a; missing key: b; down: c"))
    assertFound(checks("key 'k' from driver"), "ok")
    val refused = Seq(
      ("denied key", "PME_KEY_DENIED", "Ask for access to the key"),
      ("missing key", "PME_KEY_NOT_FOUND", "Create the key"),
      ("down", "PME_KMS_UNAVAILABLE", "Check address, network, path and password.")
    )
    for ((key, condition, remedy) <- refused) {
      val check = checks(s"key '$key' from driver")
      assertEquals(check.status, "problem")
      assert(check.found.contains(condition) && check.remedy.contains(remedy), check)
    }
  }

  test("a KMS that nobody reaches, and a keystore that is not there, are problems without their secrets") {
    val secret = Files.write(directory.resolve("secret"), "hvs.not-to-be-shown".getBytes("UTF-8"))
    val vault = examine(
      Map(
        "kms" -> "vault",
        "kms.vault.url" -> "http://127.0.0.1:9",
        "kms.vault.token" -> s"file:$secret",
        "kms.timeoutSeconds" -> "2",
        "uniformKey" -> "k"
      )
    )
    assertFound(vault("key 'k' from driver"), "problem", "[PME_KMS_UNAVAILABLE]")
    val keystore = examine(
      Map(
        "kms" -> "keystore",
        "kms.keystore.path" -> s"$directory/none.p12",
        "kms.keystore.password" -> s"file:$secret",
        "uniformKey" -> "k"
      )
    )
    assertFound(keystore("KMS"), "problem", "[PME_KMS_UNAVAILABLE]", "there is no such file")
    assert(!s"$vault$keystore".contains("hvs.not-to-be-shown"))
  }

  test("a misspelt name, in the session or in options, is a problem") {
    val misspelt = Map("footerKy" -> "footer")
    def assertMisspelt(checks: Map[String, Check]): Unit = assertFound(
      checks("options"),
      "problem",
      "Did you mean 'footerKey'",
      "Use the name that the message suggests."
    )
    assertMisspelt(examine(misspelt))
    setOptions(misspelt)
    assertMisspelt(examine(Map.empty))
    SparkSession.setActiveSession(spark.newSession())
    assertMisspelt(examine(Map.empty))
  }
}
