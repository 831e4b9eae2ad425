package io.pmeparquet.kms.local

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.file.{Files, Path}
import java.security.{KeyStore, PrivateKey, Provider}
import javax.crypto.spec.SecretKeySpec

import munit.FunSuite
import org.bouncycastle.jce.provider.BouncyCastleProvider

import io.pmeparquet.{Keytool, PmeException, Secret}
import io.pmeparquet.keys.PublicKeys

/** Private keys of a Java keystore that sign. */
class KeystoreSigningSuite extends FunSuite {
  private val password = "password".toCharArray
  private val message = "a message".getBytes

  /** A keystore of `keytool`, with a certificate for each private key. */
  private lazy val made: Array[Byte] = {
    val directory = Files.createTempDirectory("signing")
    val file = directory.resolve("keys.p12")
    try {
      generate(file, "edwards", "-keyalg", "Ed25519")
      generate(file, "p256", "-keyalg", "EC", "-groupname", "secp256r1")
      generate(file, "p384", "-keyalg", "EC", "-groupname", "secp384r1")
      generate(file, "rsa", "-keyalg", "RSA", "-keysize", "2048")
      Files.readAllBytes(file)
    } finally {
      Files.deleteIfExists(file)
      Files.delete(directory)
    }
  }

  private def generate(file: Path, alias: String, kind: String*): Unit = {
    val entry = Seq("-genkeypair", "-alias", alias, "-dname", s"CN=$alias") ++ kind
    val store = Seq("-keystore", file.toString, "-storetype", "PKCS12", "-storepass", password.mkString)
    Keytool.run(entry ++ store: _*)
  }

  private def loaded(content: Array[Byte]): KeyStore = {
    val keystore = KeyStore.getInstance("PKCS12")
    keystore.load(new ByteArrayInputStream(content), password)
    keystore
  }

  private def stored(keystore: KeyStore): Array[Byte] = {
    val out = new ByteArrayOutputStream
    keystore.store(out, password)
    out.toByteArray
  }

  private def changed(change: KeyStore => Unit): Array[Byte] = {
    val keystore = loaded(made)
    change(keystore)
    stored(keystore)
  }

  private def privateKey(alias: String) = loaded(made).getKey(alias, password).asInstanceOf[PrivateKey]
  private def certificate(alias: String) = loaded(made).getCertificate(alias)

  private def opened(content: Array[Byte] = made, storeType: String = "PKCS12") = KeystoreKms.open(
    "k.p12",
    storeType,
    Some(content),
    new Secret(password.mkString),
    timeoutMillis = 30000
  )

  private def bouncyCastle(alias: String): Array[Byte] = {
    val provider: Provider = new BouncyCastleProvider
    val keystore = KeyStore.getInstance("BCFKS", provider)
    keystore.load(null, password)
    keystore.setKeyEntry(alias, privateKey(alias), password, Array(certificate(alias)))
    stored(keystore)
  }

  Seq("edwards" -> PublicKeys.Ed25519, "p256" -> PublicKeys.EcdsaP256).foreach { case (alias, algorithm) =>
    test(s"$alias: the public key of a private key's certificate verifies what it signs") {
      val signing = opened().signingKey(alias, "t")
      assertEquals(signing.algorithm, algorithm)
      assertEquals(signing.publicKey.getEncoded.toSeq, certificate(alias).getPublicKey.getEncoded.toSeq)
      assert(PublicKeys.verifies(signing.publicKey, message, signing.sign(message, "t")))
      assertEquals(signing.describe, s"key '$alias' of keystore k.p12")
    }

    test(s"$alias: BouncyCastle's keystore signs as well") {
      val signing = opened(bouncyCastle(alias), "BCFKS").signingKey(alias, "t")
      assertEquals(signing.publicKey.getEncoded.toSeq, certificate(alias).getPublicKey.getEncoded.toSeq)
      assert(PublicKeys.verifies(signing.publicKey, message, signing.sign(message, "t")))
    }
  }

  private def unusable(content: Array[Byte], alias: String, words: String*): Unit = {
    val failed = intercept[PmeException](opened(content).signingKey(alias, "table t"))
    assertEquals(failed.getCondition(), "PME_KEY_NOT_FOUND")
    (Seq("table t: ", s"'$alias'", "keystore k.p12") ++ words).foreach { word =>
      assert(failed.getMessage.contains(word), failed.getMessage)
    }
  }

  test("an entry that is missing, or without a private key, signs nothing") {
    val aes = new SecretKeySpec(new Array[Byte](16), "AES")
    unusable(made, "absent", "does not have it")
    unusable(changed(_.setKeyEntry("master", aes, password, null)), "master", "is not a private key")
    unusable(changed(_.setCertificateEntry("public", certificate("p256"))), "public", "does not have it")
    unusable(made, "P256", "'p256', in another case")
  }

  test("keys of other algorithms and curves are refused, with those that are supported") {
    unusable(made, "rsa", "RSA", PublicKeys.Supported)
    unusable(made, "p384", "EC", PublicKeys.Supported)
  }

  test("a certificate of another private key is refused before anything is signed") {
    val another = changed(generated => generated.deleteEntry("p256"))
    val file = Files.createTempFile("signing", ".p12")
    try {
      Files.write(file, another)
      generate(file, "p256", "-keyalg", "EC", "-groupname", "secp256r1")
      val swapped = loaded(Files.readAllBytes(file))
      swapped.setKeyEntry("swapped", privateKey("p256"), password, swapped.getCertificateChain("p256"))
      unusable(stored(swapped), "swapped", "is not that of its private key")
    } finally Files.delete(file)
    val ofAnotherKind =
      changed(_.setKeyEntry("swapped", privateKey("p256"), password, Array(certificate("edwards"))))
    unusable(ofAnotherKind, "swapped", "does not sign with Ed25519")
  }
}
