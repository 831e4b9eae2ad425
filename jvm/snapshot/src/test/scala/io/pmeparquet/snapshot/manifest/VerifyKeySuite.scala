package io.pmeparquet.snapshot.manifest

import java.nio.file.Files
import java.security.{KeyPairGenerator, PublicKey}
import java.security.spec.ECGenParameterSpec
import java.util.Base64

import munit.FunSuite

import io.pmeparquet.{Keytool, PmeException, Secret}

class VerifyKeySuite extends FunSuite {
  private def generated(kind: String, curve: Option[String] = None): PublicKey = {
    val generator = KeyPairGenerator.getInstance(kind)
    curve.foreach(name => generator.initialize(new ECGenParameterSpec(name)))
    generator.generateKeyPair().getPublic
  }

  private lazy val edwards = generated("Ed25519")
  private lazy val p256 = generated("EC", Some("secp256r1"))

  private def pem(bytes: Array[Byte], label: String = "PUBLIC KEY"): String = {
    val lines = Base64.getMimeEncoder(64, "\n".getBytes).encodeToString(bytes)
    s"-----BEGIN $label-----\n$lines\n-----END $label-----\n"
  }

  private def pem(key: PublicKey): String = pem(key.getEncoded)

  private def read(text: String): PublicKey = VerifyKey.ofPem("verifyKey", new Secret(text))

  /** Requires the failure of a bad option that repeats no line of the text. */
  private def unusable(text: String, words: String*): Unit = {
    val failed = intercept[PmeException](read(text))
    assertEquals(failed.getCondition(), "PME_BAD_OPTION", failed.getMessage)
    ("option verifyKey" +: words).foreach(word => assert(failed.getMessage.contains(word), failed.getMessage))
    val all = Iterator.iterate[Throwable](failed)(_.getCause).takeWhile(_ != null).map(_.toString).mkString
    val lines = text.split("\n").map(_.trim).filterNot(_.startsWith("-----"))
    lines.filter(_.length > 8).foreach { line =>
      assert(!all.contains(line), all)
    }
  }

  /** A certificate of a new key, as `keytool` exports it. */
  private def certificate(kind: String*): String = {
    val directory = Files.createTempDirectory("verify")
    val (store, exported) = (directory.resolve("k.p12"), directory.resolve("k.pem"))
    val common = Seq("-alias", "k", "-keystore", store.toString, "-storepass", "password")
    try {
      Keytool.run(Seq("-genkeypair", "-dname", "CN=k", "-storetype", "PKCS12") ++ kind ++ common: _*)
      Keytool.run(Seq("-exportcert", "-rfc", "-file", exported.toString) ++ common: _*)
      new String(Files.readAllBytes(exported))
    } finally {
      Seq(store, exported).foreach(Files.deleteIfExists(_))
      Files.delete(directory)
    }
  }

  test("a public key is read, whatever surrounds it and however its lines end") {
    Seq(edwards, p256).foreach { key =>
      assertEquals(read(pem(key)).getEncoded.toSeq, key.getEncoded.toSeq)
      assertEquals(read(pem(key).replace("\n", "\r\n")).getEncoded.toSeq, key.getEncoded.toSeq)
      assertEquals(read(s"a comment\n${pem(key)}and more").getEncoded.toSeq, key.getEncoded.toSeq)
    }
  }

  test("the key of a certificate is read") {
    assertEquals(read(certificate("-keyalg", "Ed25519")).getAlgorithm, "EdDSA")
    assertEquals(read(certificate("-keyalg", "EC", "-groupname", "secp256r1")).getAlgorithm, "EC")
  }

  test("a certificate of a key that is not supported is refused") {
    unusable(certificate("-keyalg", "RSA", "-keysize", "2048"), "Ed25519")
    unusable(certificate("-keyalg", "EC", "-groupname", "secp384r1"), "Ed25519")
  }

  test("more than one block is refused, of the same key too") {
    unusable(pem(edwards) + pem(p256), "more than one key")
    unusable(pem(edwards) + pem(edwards), "more than one key")
    unusable(pem(edwards) + certificate("-keyalg", "Ed25519"), "more than one key")
  }

  test("keys of other algorithms and curves are refused") {
    unusable(pem(generated("RSA")), "Ed25519")
    unusable(pem(generated("EC", Some("secp384r1"))), "Ed25519")
    unusable(pem(generated("Ed448")), "Ed25519")
    unusable(pem(generated("X25519")), "Ed25519")
  }

  test("garbage is refused, and not repeated") {
    Seq(
      "",
      "some text that is a secret",
      pem("no key at all, only text".getBytes),
      pem(new Array[Byte](10000))
    )
      .foreach(unusable(_))
    unusable("-----BEGIN PUBLIC KEY-----\nMCowBQ=YDK2VwAyEA\n-----END PUBLIC KEY-----", "base64")
    unusable("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END CERTIFICATE-----", "no PEM block")
    unusable(pem("not a certificate at all".getBytes, "CERTIFICATE"))
    unusable(pem(edwards.getEncoded, "CERTIFICATE"))
  }

  test("a private key is refused, and not repeated") {
    val secret = KeyPairGenerator.getInstance("Ed25519").generateKeyPair().getPrivate
    unusable(pem(secret.getEncoded, "PRIVATE KEY"), "no PEM block")
    unusable(pem(secret.getEncoded))
  }

  test("a key cut or continued at any byte is refused") {
    val bytes = edwards.getEncoded
    (1 until bytes.length).foreach(length => unusable(pem(bytes.take(length))))
    unusable(pem(bytes :+ 0.toByte))
  }
}
