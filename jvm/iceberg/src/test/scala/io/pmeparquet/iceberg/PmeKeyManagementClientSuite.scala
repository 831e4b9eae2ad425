package io.pmeparquet.iceberg

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.{Files, Path}
import java.nio.ByteBuffer
import java.security.KeyStore
import java.util.Base64
import javax.crypto.spec.SecretKeySpec

import scala.collection.JavaConverters._

import org.apache.iceberg.encryption.{EncryptionUtil, KeyManagementClient}

import io.pmeparquet.kms.vault.VaultSuite

/** The client as Iceberg makes it: by its name in properties of a catalog. Vault has prepared answers. */
class PmeKeyManagementClientSuite extends VaultSuite {
  private val directory = FunFixture[Path](_ => Files.createTempDirectory("pme-iceberg"), remove)
  private val secret = "k3y-s3cret-never-shown"

  private def remove(path: Path): Unit =
    Files.walk(path).sorted(java.util.Comparator.reverseOrder()).forEach(Files.delete(_))

  private def client(properties: (String, String)*): KeyManagementClient = {
    val own = properties.map { case (name, value) => s"pme-parquet.$name" -> value }.toMap
    made(own)
  }

  private def made(properties: Map[String, String]): KeyManagementClient = EncryptionUtil.createKmsClient(
    (properties + ("encryption.kms-impl" -> "io.pmeparquet.iceberg.PmeKeyManagementClient")).asJava
  )

  private def master(fill: Int) = Base64.getEncoder.encodeToString(Array.fill(32)(fill.toByte))

  private def static(directory: Path, keys: String): Seq[(String, String)] = {
    val file = Files.createTempFile(directory, "keys", ".txt")
    Files.write(file, keys.getBytes(UTF_8))
    Seq("kms" -> "static", "kms.static.keys" -> s"file:$file")
  }

  private def vaultOptions(vault: Vault, directory: Path, more: (String, String)*): Seq[(String, String)] = {
    val token = Files.write(directory.resolve("token"), "s.token".getBytes(UTF_8))
    Seq("kms" -> "vault", "kms.vault.url" -> vault.address, "kms.vault.token" -> s"file:$token") ++ more
  }

  private def data(bytes: Int = 16): ByteBuffer = ByteBuffer.wrap(Array.tabulate(bytes)(_.toByte))

  private def text(buffer: ByteBuffer) = UTF_8.decode(buffer.duplicate()).toString

  private def refusal(condition: String, says: String*)(run: => Any): KeyAccessException = {
    val failed = intercept[KeyAccessException](run)
    assertEquals(failed.getCondition, condition)
    assertEquals(failed.getErrorClass, condition)
    says.foreach(word => assert(failed.getMessage.contains(word), failed.getMessage))
    Seq(secret, "s.token").foreach(word => assert(!failed.getMessage.contains(word), failed.getMessage))
    failed
  }

  private def bytesOf(client: KeyManagementClient): Array[Byte] = {
    val out = new ByteArrayOutputStream
    new ObjectOutputStream(out).writeObject(client)
    out.toByteArray
  }

  private def sent(client: KeyManagementClient): KeyManagementClient =
    new ObjectInputStream(new ByteArrayInputStream(bytesOf(client))).readObject
      .asInstanceOf[KeyManagementClient]

  directory.test(
    "a key of every size comes back, also in another process, and leaves the caller's buffer alone"
  ) { here =>
    val driver = client(static(here, s"m=${master(1)}"): _*)
    Seq(16, 24, 32).foreach { size =>
      val key = data(size)
      val wrapped = driver.wrapKey(key, "m")
      assertEquals(key.remaining, size)
      assertEquals(driver.unwrapKey(wrapped, "m"), data(size))
      assertEquals(sent(driver).unwrapKey(wrapped, "m"), data(size))
    }
    // Part of a buffer, and one without an array.
    val whole = ByteBuffer.allocateDirect(20).put(new Array[Byte](2)).put(data(16)).position(2).limit(18)
    assertEquals(driver.unwrapKey(driver.wrapKey(whole, "m"), "m"), data(16))
    assert(!driver.supportsKeyGeneration)
  }

  directory.test("a keystore works the same, and a wrong password is no key") { here =>
    val path = here.resolve("keys.p12")
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, null)
    val entry = new KeyStore.SecretKeyEntry(new SecretKeySpec(new Array[Byte](32), "AES"))
    store.setEntry("m", entry, new KeyStore.PasswordProtection(secret.toCharArray))
    val out = Files.newOutputStream(path)
    try store.store(out, secret.toCharArray)
    finally out.close()
    def options(password: String) = {
      val file = Files.write(here.resolve("password"), password.getBytes(UTF_8))
      Seq("kms.keystore.path" -> path.toString, "kms.keystore.password" -> s"file:$file")
    }
    val opened = client(options(secret): _*)
    assertEquals(opened.unwrapKey(opened.wrapKey(data(), "m"), "m"), data())
    refusal("PME_KEY_NOT_FOUND", "'x'")(opened.wrapKey(data(), "x"))
    refusal("PME_KMS_UNAVAILABLE", "keys.p12")(client(options("wrong"): _*).wrapKey(data(), "m"))
  }

  directory.test("Vault is asked once for a wrapped key, and what it returns is what the table keeps") {
    here =>
      val vault = new Vault(wrapped, unwrapped, unwrapped)
      try {
        val driver = client(vaultOptions(vault, here): _*)
        assertEquals(text(driver.wrapKey(data(), "m")), "vault:v1:abc")
        val stored = ByteBuffer.wrap("vault:v1:abc".getBytes(UTF_8))
        (1 to 3).foreach(_ =>
          assertEquals(driver.unwrapKey(stored, "m").array.toSeq, key.insecureBytes.toSeq)
        )
        assertEquals(vault.paths, Seq("/v1/transit/encrypt/m", "/v1/transit/decrypt/m"))
        // A closed client keeps no key.
        driver.close()
        driver.unwrapKey(stored, "m")
        assertEquals(vault.paths.size, 3)
        assertEquals(vault.tokens.distinct, Seq("s.token"))
      } finally vault.close()
  }

  directory.test("a Vault that refuses, or is not there, says so within the time limit") { here =>
    val vault = new Vault(denied, known)
    val stored = ByteBuffer.wrap("vault:v1:abc".getBytes(UTF_8))
    val limited = vaultOptions(vault, here, "kms.timeoutSeconds" -> "2")
    try refusal("PME_KEY_DENIED", "'m'")(client(limited: _*).unwrapKey(stored, "m"))
    finally vault.close()
    refusal("PME_KMS_UNAVAILABLE", "Iceberg")(client(limited: _*).unwrapKey(stored, "m"))
  }

  directory.test("another key of the same name, another name, and altered bytes do not open a key") { here =>
    val owner = client(static(here, s"m=${master(1)}\nn=${master(1)}"): _*)
    val wrapped = owner.wrapKey(data(), "m")
    refusal("PME_NOT_AUTHENTIC")(client(static(here, s"m=${master(2)}"): _*).unwrapKey(wrapped, "m"))
    refusal("PME_NOT_AUTHENTIC")(owner.unwrapKey(wrapped, "n"))
    refusal("PME_KEY_NOT_FOUND", "'x'")(owner.wrapKey(data(), "x"))
    refusal("PME_KEY_METADATA")(owner.unwrapKey(ByteBuffer.wrap("é".getBytes(ISO_8859_1)), "m"))
    refusal("PME_KEY_METADATA")(owner.wrapKey(data(15), "m"))
  }

  test("a name that is not ours, an option of files, and a secret as a value are refused before any use") {
    refusal("PME_UNKNOWN_OPTION", "pme-parquet.kms.vault.adress", "kms.vault.url")(
      client("kms.vault.adress" -> "x")
    )
    Seq("footerKey", "columnKeys", "parquet.encryption.column.keys", "plaintextFiles", "kms.callFrom")
      .foreach { name =>
        refusal("PME_BAD_OPTION", "pme-parquet.")(client(name -> "driver"))
      }
    refusal("PME_SECRET_IN_OPTION", "kms.vault.token")(client("kms.vault.token" -> secret))
    refusal("PME_BAD_OPTION", "twice")(client("kms" -> "static", "KMS" -> "vault"))
  }

  test("a catalog without a key for its tables needs no KMS") {
    client("kms" -> "static", "kms.static.keys" -> "env:PME_TEST_NOT_SET").close()
  }

  directory.test("no secret, no key and no other property of the catalog travels to executors") { here =>
    val keys = s"m=${master(1)}"
    val catalog = Map(
      "pme-parquet.kms" -> "static",
      "pme-parquet.kms.static.keys" -> "conf:company.keys",
      "company.keys" -> keys,
      "s3.secret-access-key" -> secret,
      "hadoop.fs.s3a.secret.key" -> secret
    )
    val driver = made(catalog)
    val wrapped = driver.wrapKey(data(), "m")
    val traveling = new String(bytesOf(driver), ISO_8859_1)
    assert(traveling.contains("conf:company.keys"), traveling)
    Seq(secret, master(1), "s3.secret-access-key", "fs.s3a").foreach { word =>
      assert(!traveling.contains(word), word)
    }
    // So an executor resolves a reference itself, and says which one it cannot resolve.
    refusal("PME_KMS_UNAVAILABLE", "conf:company.keys")(sent(driver).unwrapKey(wrapped, "m"))
    assertEquals(driver.unwrapKey(wrapped, "m"), data())
    assert(Files.exists(here))
  }

  directory.test("settings of Hadoop in the catalog name a provider of credentials") { here =>
    val path = s"localjceks://file${here.resolve("secrets.jceks")}"
    val conf = new org.apache.hadoop.conf.Configuration(false)
    conf.set("hadoop.security.credential.provider.path", path)
    val provider = org.apache.hadoop.security.alias.CredentialProviderFactory.getProviders(conf).get(0)
    provider.createCredentialEntry("keys", s"m=${master(1)}".toCharArray)
    provider.flush()
    val options =
      Map("pme-parquet.kms" -> "static", "pme-parquet.kms.static.keys" -> "hadoop-credential:keys")
    val driver = made(options + ("hadoop.hadoop.security.credential.provider.path" -> path))
    val wrapped = driver.wrapKey(data(), "m")
    assertEquals(driver.unwrapKey(wrapped, "m"), data())
    assertEquals(sent(driver).unwrapKey(wrapped, "m"), data())
    refusal("PME_KMS_UNAVAILABLE", "hadoop-credential:keys")(made(options).wrapKey(data(), "m"))
  }
}
