package io.pmeparquet.kms.vault

import java.security.{KeyPair, KeyPairGenerator, Signature}
import java.security.spec.ECGenParameterSpec
import java.util.Base64

import io.pmeparquet.keys.PublicKeys

/** Transit keys that sign. */
class VaultSigningSuite extends VaultSuite {
  private val edwards = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()
  private val p256 = onCurve("secp256r1")
  private val message = "a message".getBytes

  private def onCurve(name: String): KeyPair = {
    val generator = KeyPairGenerator.getInstance("EC")
    generator.initialize(new ECGenParameterSpec(name))
    generator.generateKeyPair()
  }

  private def base64(bytes: Array[Byte]) = Base64.getEncoder.encodeToString(bytes)
  private def raw(pair: KeyPair) = base64(pair.getPublic.getEncoded.takeRight(32))
  private def pem(pair: KeyPair) = {
    val lines = base64(pair.getPublic.getEncoded).grouped(64).mkString("\\n")
    s"-----BEGIN PUBLIC KEY-----\\n$lines\\n-----END PUBLIC KEY-----\\n"
  }

  private def signed(pair: KeyPair, algorithm: String, message: Array[Byte] = message): String = {
    val signature = Signature.getInstance(algorithm)
    signature.initSign(pair.getPrivate)
    signature.update(message)
    base64(signature.sign())
  }

  private def looked(kind: String, latest: Int, versions: (Int, String)*): Reply = {
    val keys = versions.map { case (version, publicKey) =>
      s""""$version":{"name":"$kind","public_key":"$publicKey","creation_time":"2026-01-01T00:00:00Z"}"""
    }
    Reply(
      200,
      s"""{"data":{"type":"$kind","derived":false,"latest_version":$latest,"keys":{${keys.mkString(",")}}}}"""
    )
  }
  private val lookedUp = looked("ed25519", 1, 1 -> raw(edwards))
  private def signature(text: String) = Reply(200, s"""{"data":{"signature":"$text"}}""")
  private val signature1 = signature(s"vault:v1:${signed(edwards, "Ed25519")}")

  private val lookUpOfKey = "GET /v1/transit/keys/k"
  private val signing = "/v1/transit/sign/k"

  test("an Ed25519 key signs with its newest version") {
    val answer = signature(s"vault:v3:${signed(edwards, "Ed25519")}")
    asking(looked("ed25519", 3, 2 -> raw(p256), 3 -> raw(edwards)), answer) { (kms, vault, _) =>
      val key = kms.signingKey("k", "t")
      assertEquals(key.algorithm, PublicKeys.Ed25519)
      assertEquals(key.publicKey.getEncoded.toSeq, edwards.getPublic.getEncoded.toSeq)
      assertEquals(base64(key.sign(message, "t")), signed(edwards, "Ed25519"))
      assertEquals(vault.paths, Seq(lookUpOfKey, signing))
      assertEquals(vault.bodies, Seq("", s"""{"input":"${base64(message)}","key_version":3}"""))
      assertEquals(vault.tokens.distinct, Seq("s.token"))
    }
  }

  test("a P-256 key signs the SHA-256 of a message, in DER") {
    val text = signed(p256, "SHA256withECDSA")
    asking(looked("ecdsa-p256", 1, 1 -> pem(p256)), signature(s"vault:v1:$text")) { (kms, vault, _) =>
      val key = kms.signingKey("k", "t")
      assertEquals(key.algorithm, PublicKeys.EcdsaP256)
      assertEquals(key.publicKey.getEncoded.toSeq, p256.getPublic.getEncoded.toSeq)
      assertEquals(base64(key.sign(message, "t")), text)
      val how =
        """"key_version":1,"hash_algorithm":"sha2-256","marshaling_algorithm":"asn1","prehashed":false"""
      assertEquals(vault.bodies.last, s"""{"input":"${base64(message)}",$how}""")
    }
  }

  test("a signature that is not of this message, key and version is refused") {
    val good = signed(edwards, "Ed25519")
    val another = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()
    Seq(
      signature(s"vault:v1:${signed(edwards, "Ed25519", "another".getBytes)}"),
      signature(s"vault:v1:${signed(another, "Ed25519")}"),
      signature(s"vault:v2:$good"),
      signature(s"vault:v1:$good!"),
      signature("vault:v1:"),
      signature(good),
      signature(""),
      Reply(200, """{"data":{"signature":7}}"""),
      Reply(200, "<html>"),
      Reply(200, "{}"),
      Reply(200, "\"" + "x" * (5 * 1024 * 1024) + "\"")
    ).foreach { answer =>
      asking(lookedUp, answer) { (kms, vault, _) =>
        val key = kms.signingKey("k", "t")
        assertEquals(condition(key.sign(message, "t")), "PME_KMS_UNAVAILABLE", answer.body.take(80))
        assertEquals(vault.paths.size, 2)
      }
    }
  }

  test("a key that is missing, derived, or of another type does not sign") {
    val derived = lookedUp.body.replace("\"derived\":false", "\"derived\":true")
    Seq(
      Reply(404, """{"errors":[]}""") -> "does not have it",
      looked("ecdsa-p384", 1, 1 -> pem(onCurve("secp384r1"))) -> "neither ed25519 nor ecdsa-p256",
      Reply(200, """{"data":{"type":"aes256-gcm96","latest_version":1,"keys":{"1":1767225600}}}""") ->
        "neither ed25519 nor ecdsa-p256",
      Reply(200, derived) -> "a derived key"
    ).foreach { case (answer, words) =>
      asking(answer) { (kms, vault, _) =>
        val failed = failure(kms.signingKey("k", "table t"))
        assertEquals(failed.getCondition(), "PME_KEY_NOT_FOUND")
        Seq("table t: ", "'k'", vault.address, words).foreach { word =>
          assert(failed.getMessage.contains(word), failed.getMessage)
        }
        assertEquals(vault.paths, Seq(lookUpOfKey))
      }
    }
    asking() { (kms, vault, _) =>
      assertEquals(condition(kms.signingKey("../../sys/seal", "t")), "PME_KEY_NOT_FOUND")
      assertEquals(vault.paths, Nil)
    }
  }

  test("a public key that is not of the key's type and newest version is refused") {
    Seq(
      looked("ed25519", 2, 1 -> raw(edwards)),
      looked("ed25519", 1, 1 -> ""),
      looked("ed25519", 1, 1 -> "AAAA"),
      looked("ed25519", 1, 1 -> "no base64!"),
      looked("ed25519", 1, 1 -> pem(edwards)),
      looked("ecdsa-p256", 1, 1 -> raw(edwards)),
      looked("ecdsa-p256", 1, 1 -> base64(p256.getPublic.getEncoded)),
      looked("ecdsa-p256", 1, 1 -> pem(onCurve("secp384r1"))),
      looked("ecdsa-p256", 1, 1 -> pem(p256).replace("M", "A")),
      Reply(200, """{"data":{"type":"ed25519"}}"""),
      Reply(200, "{}"),
      Reply(200, "<html>"),
      Reply(404, "<html>"),
      refusal(404, "no handler for route \\\"transit/keys/k\\\"")
    ).foreach { answer =>
      asking(answer) { (kms, _, _) =>
        assertEquals(condition(kms.signingKey("k", "t")), "PME_KMS_UNAVAILABLE", answer.body)
      }
    }
  }

  test("refusals to look a key up, and to sign with it, have errors of their own") {
    val refusals = Seq(
      denied -> "PME_KEY_DENIED",
      refusal(403, "invalid token") -> "PME_KMS_UNAVAILABLE",
      refusal(400, "signing key not found") -> "PME_KEY_NOT_FOUND",
      refusal(400, "something else") -> "PME_KMS_UNAVAILABLE",
      refusal(503, "Vault is sealed") -> "PME_KMS_UNAVAILABLE"
    )
    refusals.foreach { case (reply, expected) =>
      asking(reply, known)((kms, _, _) =>
        assertEquals(condition(kms.signingKey("k", "t")), expected, reply.body)
      )
      asking(lookedUp, reply, known) { (kms, _, _) =>
        val key = kms.signingKey("k", "t")
        assertEquals(condition(key.sign(message, "t")), expected, reply.body)
      }
    }
  }

  test("a version that no longer signs is named") {
    val retired = "requested version for signing is less than the minimum encryption key version"
    asking(lookedUp, refusal(400, retired)) { (kms, _, _) =>
      val key = kms.signingKey("k", "t")
      val failed = failure(key.sign(message, "t"))
      assertEquals(failed.getCondition(), "PME_KEY_NOT_FOUND")
      assert(failed.getMessage.contains("does not sign with version 1"), failed.getMessage)
    }
  }

  test("a login whose token has expired is repeated before a signature") {
    val expired = refusal(403, "invalid token")
    withLogin(login("one", 100), lookedUp, expired, login("two", 100), signature1) { (kms, vault, _) =>
      val key = kms.signingKey("k", "t")
      assert(PublicKeys.verifies(key.publicKey, message, key.sign(message, "t")))
      assertEquals(vault.tokens, Seq("", "one", "one", "", "two"))
    }
  }
}
