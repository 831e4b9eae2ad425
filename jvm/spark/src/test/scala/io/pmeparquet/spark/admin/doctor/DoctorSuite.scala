package io.pmeparquet.spark.admin.doctor

import java.net.URLClassLoader
import java.nio.file.{Files, Path}
import java.util.jar.{JarEntry, JarOutputStream}

import org.apache.spark.SparkConf

import io.pmeparquet.{ClassPathEntry, PmeErrors}
import io.pmeparquet.cipher.AesSpeed
import io.pmeparquet.parquet.scope.KeyCalls
import io.pmeparquet.spark.keys.RpcProtection

class DoctorSuite extends munit.FunSuite {
  private val jar = Connector("0.1.0", "4.0", "2.13")
  private val quick = AesFacts("SunJCE 17", Nil, Nil, List(AesSpeed(128, 65536, 5.0)))
  private val driver = ExecutorFacts("driver", "here", "4.0.4", "17.0.15", "pme.jar", Some("abc"), quick)

  private def assertCheck(check: Check, status: String, found: String, remedy: String): Unit = {
    assertEquals(check.status, status)
    assert(check.found.contains(found), check)
    assert(check.remedy.contains(remedy), check)
    assertEquals(check.remedy.isEmpty, status == "ok", check)
  }

  test("the connector for the Spark version is ok") {
    Seq("4.0.4", "4.1.3", "4.2.0", "4.3.0").foreach { version =>
      assertCheck(InstallationChecks.spark(version, Some(jar)), "ok", version, "")
    }
    assertCheck(InstallationChecks.spark("3.5.9", Some(jar.copy(spark = "3.5"))), "ok", "3.5.9", "")
  }

  test("a connector for another Spark version is a problem") {
    val check = InstallationChecks.spark("3.5.9", Some(jar.copy(scala = "2.12")))
    assertCheck(check, "problem", "the connector is for Spark 4.0", "Use pme-parquet-spark-3.5_2.12.")
  }

  test("an untested Spark version is a warning") {
    assertCheck(InstallationChecks.spark("4.9.0", Some(jar)), "warning", "4.9.0", "run your own tests")
  }

  test("a connector for another Scala version is a problem") {
    val check = InstallationChecks.scala("2.12.18", Some(jar.copy(spark = "3.5")))
    assertCheck(check, "problem", "for Scala 2.13", "Use pme-parquet-spark-3.5_2.12.")
  }

  test("an old Java is a problem") {
    Seq("1.8", "11").foreach { old =>
      assertCheck(InstallationChecks.java(old), "problem", "", "Java 17 or later: set JAVA_HOME")
    }
    Seq("17", "21", "25").foreach(fine => assertCheck(InstallationChecks.java(fine), "ok", "", ""))
  }

  test("RPC encrypted with AES in CTR mode, Spark's default, is a warning that names the cipher") {
    val on = Map("spark.authenticate" -> "true", "spark.network.crypto.enabled" -> "true")
    def check(more: (String, String)*)(version: String, knowsGcm: Boolean) = {
      val conf = new SparkConf(false).setAll(on ++ more)
      SettingChecks.rpcOf(RpcProtection.of(conf, version, knowsGcm), knowsGcm)
    }
    val gcm = "spark.network.crypto.cipher" -> "AES/GCM/NoPadding"
    assertCheck(
      check()("4.0.4", knowsGcm = true),
      "warning",
      "not authenticated",
      "Set spark.network.crypto.cipher="
    )
    assertCheck(check(gcm)("4.0.4", knowsGcm = true), "ok", "authenticated", "")
    // This Spark does not know the setting, and ignores it.
    assertCheck(
      check(gcm)("3.5.1", knowsGcm = false),
      "warning",
      "not authenticated",
      "Use Spark 3.5.2, 4.0 or later, and set"
    )
    val tls = "spark.ssl.rpc.enabled" -> "true"
    assertCheck(check(tls)("4.0.4", knowsGcm = true), "ok", "authenticated", "")
    assertCheck(check(tls)("3.5.9", knowsGcm = true), "warning", "not authenticated", "")
    assertCheck(
      check("spark.authenticate" -> "false")("4.0.4", knowsGcm = true),
      "warning",
      "not encrypted",
      "spark.authenticate=true"
    )
    assert(RpcProtection.knowsGcm)
  }

  test("a wheel with another version than the connector is a problem") {
    assertCheck(InstallationChecks.wheel("0.1.0", Some(jar)), "ok", "0.1.0", "")
    assertCheck(
      InstallationChecks.wheel("0.2.0", Some(jar)),
      "problem",
      "the connector is 0.1.0",
      "install the wheel of version 0.1.0"
    )
    assertCheck(InstallationChecks.wheel("0.2.0", None), "warning", "is not known", "own jar")
  }

  test("an executor with another JVM than the driver is a warning") {
    assertCheck(
      ExecutorChecks.compared(driver.copy(id = "1"), driver),
      "ok",
      "as the driver: Java 17.0.15",
      ""
    )
    val other =
      driver.copy(java = "21.0.1", aes = quick.copy(provider = "BC 1.82", switchedOff = List("UseAES")))
    val found = "Java 21.0.1 (on the driver 17.0.15); AES provider BC 1.82 (on the driver SunJCE 17); " +
      "AES switches that are off: [UseAES] (on the driver [])"
    assertCheck(
      ExecutorChecks.compared(other, driver),
      "warning",
      found,
      "the same Spark, Java and JVM options"
    )
  }

  test("an executor with another connector or Spark than the driver is a problem") {
    val jar = driver.copy(jar = "old.jar", digest = Some("def"))
    val found = "another connector jar (old.jar; on the driver pme.jar)"
    assertCheck(ExecutorChecks.compared(jar, driver), "problem", found, "one connector, only with spark.jars")
    val spark = driver.copy(spark = "4.0.3")
    assertCheck(
      ExecutorChecks.compared(spark, driver),
      "problem",
      "Spark 4.0.3 (on the driver 4.0.4)",
      "same Spark"
    )
  }

  test("an executor whose jar is not known is a problem") {
    val unknown = driver.copy(digest = None)
    assertEquals(ExecutorChecks.compared(unknown, unknown).status, "problem")
  }

  test("AES instructions that are off, and slow AES, are warnings") {
    assert(quick.checks("here").forall(_.status == "ok"))
    val bad = quick.copy(switchedOff = List("UseAES"), speeds = List(AesSpeed(128, 65536, 0.1)))
    val checks = bad.checks("here")
    assertEquals(checks.map(_.status), Seq("ok", "warning", "warning"))
    assertCheck(checks(1), "warning", "UseAES switched off", "-XX:-UseAES")
    assertCheck(
      checks(2),
      "warning",
      "0.1 GB/s (128 bits, modules of 64 KiB)",
      "AmazonCorrettoCryptoProvider of software.amazon.cryptools"
    )
  }

  test("a JVM that does not report its AES instructions is ok, not a warning") {
    val unreported = quick.copy(unknown = List("UseAES", "UseAESIntrinsics", "UseAESCTRIntrinsics"))
    assertCheck(unreported.checks("here")(1), "ok", "not known", "")
  }

  test("a check that fails is a problem with its message and a remedy") {
    val denied = Check.attempt("key")(throw PmeErrors.keyDenied("trial", "k", "the KMS", null))
    assertCheck(denied.head, "problem", "[PME_KEY_DENIED]", "Ask for access")
    val other = Check.attempt("key")(throw new NoSuchMethodError("f"))
    assertCheck(other.head, "problem", "java.lang.NoSuchMethodError: f", "logs")
  }

  test("credentials in the URLs of a message are removed") {
    val messages = Seq(
      "GET https://user:p@ss@host:8443/v1/keys/k?token=secret&x=1: refused" -> "GET https://…@host:8443/v1/keys/k?… refused",
      "s3a://AKIA:secret@bucket/t" -> "s3a://…@bucket/t",
      "https://host?sig=secret" -> "https://host?…",
      "who can read a/b@c? nobody $1" -> "who can read a/b@c? nobody $1"
    )
    messages.foreach { case (message, shown) =>
      assert(Check.failure("KMS", new java.io.IOException(message)).found.endsWith(s": $shown"))
      assertEquals(Check.failure("KMS", "PME_KMS_UNAVAILABLE", message).found, shown)
    }
  }

  test("two versions of a jar are a problem, two copies a warning") {
    val at = Files.createTempDirectory("doctor")
    val one = written(at.resolve("one.jar"), "1")
    val copy = Files.copy(one, at.resolve("copy.jar"))
    val two = written(at.resolve("two.jar"), "2")
    def check(paths: Path*) = {
      val loader = new URLClassLoader(paths.map(_.toUri.toURL).toArray, null)
      InstallationChecks.duplicates("thing", "1.0", ClassPathEntry.holding("x/Y.class", loader))
    }
    assertCheck(check(one), "ok", s"1.0, from $one", "")
    assertCheck(check(one, copy), "warning", s"also on the class path: $copy (identical files)", "Keep one")
    assertCheck(check(one, two), "problem", s"also on the class path: $two", "Keep one")
    Seq(one, copy, two, at).foreach(Files.delete)
  }

  private def written(at: Path, content: String): Path = {
    val out = new JarOutputStream(Files.newOutputStream(at))
    out.putNextEntry(new JarEntry("x/Y.class"))
    out.write(content.getBytes("UTF-8"))
    out.close()
    at
  }

  test(
    "a session with Delta that has a factory and no extension is a problem, and one without both is a warning"
  ) {
    val ours = "io.pmeparquet.parquet.PmeCryptoFactory"
    assertCheck(DeltaChecks.ofExtensions(hasRules = false), "problem", "nothing refuses", "PmeExtensions")
    assertCheck(
      DeltaChecks.ofGuard(isSet = false),
      "problem",
      "without PmeLogStore",
      "spark.delta.logStore.class="
    )
    assertCheck(DeltaChecks.ofGuard(isSet = true), "ok", "PmeLogStore", "")
    assertCheck(DeltaChecks.ofExtensions(hasRules = true), "ok", "PmeExtensions", "")
    assertCheck(
      DeltaChecks.ofFactory(None, hasRules = false),
      "warning",
      "also those whose properties name keys",
      ours
    )
    assertCheck(
      DeltaChecks.ofFactory(None, hasRules = true),
      "warning",
      "refuses writes to tables with keys",
      ours
    )
    assertCheck(DeltaChecks.ofFactory(Some("x.Y"), hasRules = false), "problem", "x.Y: checkpoints", ours)
    assertCheck(
      DeltaChecks.ofFactory(Some("x.Y"), hasRules = true),
      "problem",
      "x.Y: PmeExtensions refuses",
      ours
    )
    assertCheck(DeltaChecks.ofFactory(Some(ours), hasRules = true), "ok", "PmeCryptoFactory", "")
  }

  test("an executor that calls the KMS though the driver should is a warning") {
    def check(isByDriver: Boolean, isAsAsked: Boolean) =
      FactoryTrial.ofTask("KMS", "k", TaskTrial(isByDriver, isAsAsked, KeyCalls(List("wrapped" -> 7L))))
    assertCheck(
      check(isByDriver = true, isAsAsked = true),
      "ok",
      "through the driver, key 'k': wrapped in 7 ms",
      ""
    )
    assertCheck(check(isByDriver = false, isAsAsked = true), "ok", "by itself, key 'k'", "")
    assertCheck(check(isByDriver = false, isAsAsked = false), "warning", "does not know", "PmeExtensions")
  }

  test("an Iceberg catalog says whether it encrypts") {
    def check(properties: (String, String)*) =
      SettingChecks.icebergCatalog("lake", properties.toMap, Some("1.11.0"), _ == "x.There")
    val (there, absent) = ("encryption.kms-impl" -> "x.There", "encryption.kms-impl" -> "x.Absent")
    val lacking = "hive, without encryption.kms-impl: it encrypts no table"
    val glue = "org.apache.iceberg.aws.glue.GlueCatalog"
    assertCheck(check("type" -> "rest"), "warning", "rest: this catalog ignores encryption.key-id", "Hive")
    assertCheck(check("catalog-impl" -> glue), "warning", s"$glue: this catalog ignores", "Hive")
    assertCheck(check("type" -> "hadoop", there), "problem", "has no effect: tables are plaintext", "Hive")
    assertCheck(check("type" -> "hive"), "warning", lacking, "spark.sql.catalog.lake.encryption.kms-impl")
    assertCheck(check(), "warning", lacking, "encryption.kms-impl")
    assertCheck(check("type" -> "hive", absent), "problem", "x.Absent, which is not on the class path", "jar")
    assertCheck(check(there), "ok", "encryption.kms-impl=x.There", "")
  }

  test("Iceberg before 1.11 ignores keys in every catalog") {
    def check(version: String, kms: (String, String)*) =
      SettingChecks.icebergCatalog("lake", Map("type" -> "hive") ++ kms, Some(version), _ => true)
    val kms = "encryption.kms-impl" -> "x.Y"
    Seq("1.10.1", "1.9.0", "0.14.1").foreach { old =>
      assertCheck(check(old), "warning", s"Iceberg $old ignores encryption.key-id", "1.11")
      assertCheck(check(old, kms), "problem", "has no effect", "1.11")
    }
    Seq("1.11.0", "1.12.0", "2.0.0", "unknown").foreach(fine =>
      assertCheck(check(fine, kms), "ok", "x.Y", "")
    )
  }
}
