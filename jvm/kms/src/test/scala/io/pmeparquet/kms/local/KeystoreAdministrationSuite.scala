package io.pmeparquet.kms.local

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermissions
import java.security.cert.CertificateFactory
import java.security.KeyStore
import java.util.Collections
import javax.crypto.spec.SecretKeySpec

import scala.collection.JavaConverters._

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeException, Secret}
import io.pmeparquet.keys.KeyState

/** Keys of a keystore's file are made and destroyed there, and what remains says so. */
class KeystoreAdministrationSuite extends FunSuite {
  private val password = "changeit".toCharArray
  private val key = AesKey.of(Array.fill(16)(5.toByte), "test")

  private val place = FunFixture[Path](_ => Files.createTempDirectory("keys"), _ => ())

  private def secret(fill: Int) =
    new KeyStore.SecretKeyEntry(new SecretKeySpec(Array.fill(32)(fill.toByte), "AES"))

  private def stored(path: Path, storeType: String = "PKCS12")(fill: KeyStore => Unit): Path = {
    val store = KeystoreType.instance(storeType)
    store.load(null, password)
    fill(store)
    val out = new ByteArrayOutputStream
    store.store(out, password)
    Files.write(path, out.toByteArray)
  }

  private def keys(path: Path, storeType: String, names: String*): Path = stored(path, storeType) { store =>
    names.zipWithIndex.foreach { case (name, at) =>
      store.setEntry(name, secret(at + 1), new KeyStore.PasswordProtection(password))
    }
  }

  private def opened(path: Path, storeType: String = "PKCS12") = KeystoreKms.open(
    path.toString,
    storeType,
    Some(Files.readAllBytes(path)),
    new Secret(new String(password)),
    30000,
    () => Some(path)
  )

  private def administration(path: Path, storeType: String = "PKCS12") =
    opened(path, storeType).administration.get

  private def loaded(path: Path): KeyStore = {
    val store = KeyStore.getInstance("PKCS12")
    store.load(new ByteArrayInputStream(Files.readAllBytes(path)), password)
    store
  }

  private def condition(run: => Any): String = intercept[PmeException](run).getCondition()

  for (storeType <- Seq("PKCS12", "JCEKS", "BCFKS"))
    place.test(s"a key that was destroyed in a $storeType keystore says so, and the others open as before") {
      folder =>
        // BCFKS derives a key for each entry, 50,000 rounds each.
        val lost = if (storeType == "BCFKS") Seq("t-acme") else Seq("t-acme", "t-third")
        val path = keys(folder.resolve("k"), storeType, lost :+ "t-other": _*)
        val before = opened(path, storeType)
        val wrapped = (lost :+ "t-other").map(id => id -> before.wrap(key, id, "w")).toMap
        val admin = administration(path, storeType)
        assertEquals(admin.state("t-acme", "w"), KeyState.Usable)
        lost.foreach(id => assertEquals(admin.destroy(id, "w"), KeyState.Destroyed))
        val after = opened(path, storeType)
        lost.foreach { id =>
          assertEquals(admin.state(id, "w"), KeyState.Destroyed)
          assertEquals(condition(after.unwrap(wrapped(id), id, "w")), "PME_KEY_DESTROYED")
          assertEquals(condition(after.wrap(key, id, "w")), "PME_KEY_DESTROYED")
          assertEquals(condition(after.directKey(id, "w")), "PME_KEY_DESTROYED")
        }
        assertEquals(after.unwrap(wrapped("t-other"), "t-other", "w"), key)
    }

  place.test("destroying a key again is no failure, and a key that was never there is one") { folder =>
    val admin = administration(keys(folder.resolve("k"), "PKCS12", "a", "b"))
    admin.destroy("a", "w")
    assertEquals(admin.destroy("a", "w"), KeyState.Destroyed)
    assertEquals(condition(admin.destroy("c", "w")), "PME_KEY_NOT_FOUND")
    assertEquals(admin.state("c", "w"), KeyState.Missing)
  }

  place.test("nobody makes a key of the name of one that was destroyed, in letters of either case") {
    folder =>
      val path = keys(folder.resolve("k"), "PKCS12", "a", "b")
      val admin = administration(path)
      admin.destroy("a", "w")
      val before = Files.readAllBytes(path).toSeq
      Seq("a", "A").foreach(id =>
        assertEquals(condition(admin.create(Seq("c", id), "w")), "PME_KEY_DESTROYED")
      )
      assertEquals(Files.readAllBytes(path).toSeq, before)
  }

  place.test("new keys wrap, all or none are made, and others stay") { folder =>
    val path = keys(folder.resolve("k"), "PKCS12", "a")
    val wrapped = opened(path).wrap(key, "a", "w")
    administration(path).create(Seq("b", "c"), "w")
    val kms = opened(path)
    Seq("b", "c").foreach(id => assertEquals(kms.unwrap(kms.wrap(key, id, "w"), id, "w"), key))
    assert(kms.directKey("b", "w") != kms.directKey("c", "w"))
    assertEquals(kms.unwrap(wrapped, "a", "w"), key)
    Seq(Seq("d", "a"), Seq("d", "Upper")).foreach { ids =>
      assertEquals(condition(administration(path).create(ids, "w")), "PME_KEY_NOT_FOUND")
    }
    assertEquals(administration(path).state("d", "w"), KeyState.Missing)
  }

  place.test("only the certificate of destroyed keys stands for one, whatever an alias is called") { folder =>
    val factory = CertificateFactory.getInstance("X.509")
    val other =
      factory.generateCertificate(new ByteArrayInputStream(KeystoreAdministrationSuite.Other.getBytes))
    val path = stored(folder.resolve("k")) { store =>
      store.setCertificateEntry("pme-parquet destroyed master key", other)
      store.setEntry("destroyed", secret(1), new KeyStore.PasswordProtection(password))
    }
    val admin = administration(path)
    assertEquals(condition(admin.state("pme-parquet destroyed master key", "w")), "PME_KEY_NOT_FOUND")
    assertEquals(condition(admin.destroy("pme-parquet destroyed master key", "w")), "PME_KEY_NOT_FOUND")
    assertEquals(admin.state("destroyed", "w"), KeyState.Usable)
  }

  place.test("an id in other letters is the key that PKCS12 finds by it") { folder =>
    val path = keys(folder.resolve("k"), "PKCS12", "pii")
    assertEquals(administration(path).nameOf("PII", "w"), "pii")
    administration(path).destroy("PII", "w")
    assertEquals(condition(opened(path).directKey("pii", "w")), "PME_KEY_DESTROYED")
  }

  test("of aliases that differ in case only, the one that is named is meant") {
    val store = KeyStore.getInstance("CaseExactJKS")
    store.load(null, password)
    Seq("PII", "pii").foreach(store.setCertificateEntry(_, Tombstone.certificate))
    Seq("PII", "pii").foreach(id => assertEquals(KeystoreAdministration.aliasIn(store, id), Some(id)))
  }

  place.test("a link to a keystore stays, and its target is changed; a second name of the file is refused") {
    folder =>
      val real = keys(folder.resolve("real"), "PKCS12", "a", "b")
      val link = Files.createSymbolicLink(folder.resolve("link"), real)
      administration(link).destroy("a", "w")
      assert(Files.isSymbolicLink(link))
      assertEquals(administration(real).state("a", "w"), KeyState.Destroyed)
      Files.createLink(folder.resolve("hard"), real)
      assertEquals(condition(administration(real).destroy("b", "w")), "PME_KMS_UNAVAILABLE")
      assertEquals(administration(real).state("b", "w"), KeyState.Usable)
  }

  place.test("the file keeps its permissions, and no draft remains") { folder =>
    val path = keys(folder.resolve("k"), "PKCS12", "a", "b")
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r-----"))
    administration(path).destroy("a", "w")
    assertEquals(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)), "rw-r-----")
    assertEquals(folder.toFile.list.toSeq, Seq("k"))
  }

  place.test("a change by another program in between is not lost") { folder =>
    val path = keys(folder.resolve("k"), "PKCS12", "a", "b")
    val file = new KeystoreFile("k", path)
    val failed = intercept[PmeException](file.change("w") { content =>
      keys(path, "PKCS12", "a", "b", "added")
      Some(content)
    })
    assertEquals(failed.getCondition(), "PME_KMS_UNAVAILABLE")
    assert(loaded(path).containsAlias("added"))
  }

  place.test("an older keystore that is put back opens again what was erased") { folder =>
    val path = keys(folder.resolve("k"), "PKCS12", "a")
    val (old, wrapped) = (Files.readAllBytes(path), opened(path).wrap(key, "a", "w"))
    administration(path).destroy("a", "w")
    Files.write(path, old)
    assertEquals(opened(path).unwrap(wrapped, "a", "w"), key)
    assertEquals(administration(path).state("a", "w"), KeyState.Usable)
  }

  place.test("the entry of a destroyed key has nothing of the key") { folder =>
    val path = keys(folder.resolve("k"), "PKCS12", "a", "b")
    administration(path).destroy("a", "w")
    val store = loaded(path)
    assertEquals(Collections.list(store.aliases()).asScala.toSet, Set("a", "b"))
    assert(store.isCertificateEntry("a") && store.getKey("a", password) == null)
  }
}

object KeystoreAdministrationSuite {

  private val Other =
    """-----BEGIN CERTIFICATE-----
      |MIIBcDCCARagAwIBAgIJANf69JKUHXpqMAoGCCqGSM49BAMCMCsxKTAnBgNVBAMT
      |IHBtZS1wYXJxdWV0IGRlc3Ryb3llZCBtYXN0ZXIga2V5MCAXDTI2MTEzMDA5NTQy
      |NVoYDzIxMjYxMTA2MDk1NDI1WjArMSkwJwYDVQQDEyBwbWUtcGFycXVldCBkZXN0
      |cm95ZWQgbWFzdGVyIGtleTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFJZ6hWk
      |60SmomAG3ppU9wFEImkqHTH/d2EwcuX8rhzigrGh8wn8LzBjtzUuJcQNWtnui59s
      |jla/hzKhBM9kTL6jITAfMB0GA1UdDgQWBBQyoSpIm7hjmNdN+Y/RhhbjczpCqTAK
      |BggqhkjOPQQDAgNIADBFAiEAh91ecyd40ZDeCIFecnVcqzMEBW2Mw5ndQdmelf2C
      |bR0CIEqBQj/wPe8J9l3dD9QezwMqEyNTuCxHJmbCYj3KGAS/
      |-----END CERTIFICATE-----
      |""".stripMargin
}
