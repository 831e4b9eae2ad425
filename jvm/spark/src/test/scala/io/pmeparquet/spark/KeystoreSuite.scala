package io.pmeparquet.spark

import java.nio.file.{Files, Path, Paths}
import java.security.KeyStore
import javax.crypto.spec.SecretKeySpec

import org.apache.spark.sql.{DataFrameWriter, Row, SaveMode}

import io.pmeparquet.Sha256

/** Tests on tables with a key for each tenant, in a keystore that may change. */
abstract class KeystoreSuite extends SparkSuite {
  private val password = "changeit".toCharArray
  protected val byTenant = Map("footerKey" -> "t-{tenant}")

  protected def keystore: Path = directory.resolve("keys.p12")

  protected def keystoreOptions: Map[String, String] = Map(
    "kms" -> "keystore",
    "kms.keystore.path" -> keystore.toString,
    "kms.keystore.password" -> s"file:${directory.resolve("password")}"
  )

  protected def makeKeys(names: String*): Unit = {
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, password)
    names.foreach { name =>
      val key = new SecretKeySpec(Sha256.ofTexts(Seq(name)), "AES")
      store.setEntry(name, new KeyStore.SecretKeyEntry(key), new KeyStore.PasswordProtection(password))
    }
    val out = Files.newOutputStream(keystore)
    try store.store(out, password)
    finally out.close()
    Files.write(directory.resolve("password"), new String(password).getBytes)
    ()
  }

  /** Adds ten rows for each of the tenants acme, bolt and cafe. */
  protected def addTo(path: String, more: (String, String)*): Unit =
    tenantRows.partitionBy("tenant").options(more.toMap).save(path)

  /** The same, for tests to which it does not matter that a new table is a copy: nothing asks for its keys. */
  protected def writeTo(path: String, more: (String, String)*): Unit =
    if (Files.exists(Paths.get(path))) addTo(path, more: _*)
    else copied(more.toMap, path)(addTo(_, more: _*))

  /** The tenants whose rows a reader with these options finds. */
  protected def tenantsRead(more: (String, String)*): Set[String] =
    reader(keystoreOptions ++ more).load(target).select("tenant").collect().map(_.getString(0)).toSet

  /** Rows of three tenants under a key for each. */
  protected def tenantRows: DataFrameWriter[Row] = spark
    .range(30)
    .selectExpr(
      "id",
      "concat('canary-', id) AS name",
      "element_at(array('acme', 'bolt', 'cafe'), int(id % 3) + 1) AS tenant"
    )
    .write
    .format(SparkSuite.Format)
    .options(keystoreOptions ++ byTenant)
    .mode(SaveMode.Append)
}
