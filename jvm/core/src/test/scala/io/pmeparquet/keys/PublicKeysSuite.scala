package io.pmeparquet.keys

import java.security.{KeyPair, KeyPairGenerator, Signature}
import java.security.spec.ECGenParameterSpec
import java.util.Base64

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeException}

class PublicKeysSuite extends FunSuite {
  private def pair(algorithm: String) = KeyPairGenerator.getInstance(algorithm).generateKeyPair()

  private def onCurve(name: String): KeyPair = {
    val generator = KeyPairGenerator.getInstance("EC")
    generator.initialize(new ECGenParameterSpec(name))
    generator.generateKeyPair()
  }

  private def signed(pair: KeyPair, algorithm: String, message: Array[Byte]): Array[Byte] = {
    val signature = Signature.getInstance(algorithm)
    signature.initSign(pair.getPrivate)
    signature.update(message)
    signature.sign()
  }

  private val supported = Seq(
    pair("Ed25519") -> PublicKeys.Ed25519,
    onCurve("secp256r1") -> PublicKeys.EcdsaP256
  )
  private val message = "a message".getBytes

  supported.foreach { case (pair, algorithm) =>
    test(s"$algorithm: a public key is read from its encoding, and from no other bytes") {
      val encoded = pair.getPublic.getEncoded
      assertEquals(PublicKeys.parse(encoded).map(_.getEncoded.toSeq), Some(encoded.toSeq))
      assertEquals(PublicKeys.parse(encoded).flatMap(PublicKeys.algorithmOf), Some(algorithm))
      assertEquals(PublicKeys.parse(encoded :+ 0.toByte), None)
      encoded.indices.foreach(length => assertEquals(PublicKeys.parse(encoded.take(length)), None))
    }

    test(s"$algorithm: a signature verifies for its message and key only") {
      val signature = signed(pair, algorithm, message)
      val key = pair.getPublic
      assert(PublicKeys.verifies(key, message, signature))
      assert(!PublicKeys.verifies(key, "another".getBytes, signature))
      supported.map(_._1.getPublic).filterNot(_ == key).foreach { other =>
        assert(!PublicKeys.verifies(other, message, signature))
      }
      signature.indices.foreach { at =>
        val bent = signature.clone()
        bent(at) = (bent(at) ^ 1).toByte
        assert(!PublicKeys.verifies(key, message, bent), s"byte $at")
        assert(!PublicKeys.verifies(key, message, signature.take(at)), s"$at bytes")
      }
    }
  }

  test("keys of other algorithms and curves are not read, and verify nothing") {
    val others = Seq(
      pair("RSA") -> "SHA256withRSA",
      pair("Ed448") -> "Ed448",
      onCurve("secp384r1") -> "SHA256withECDSA"
    )
    others.foreach { case (pair, algorithm) =>
      assertEquals(PublicKeys.parse(pair.getPublic.getEncoded), None)
      assert(!PublicKeys.verifies(pair.getPublic, message, signed(pair, algorithm, message)))
    }
  }

  test("an Ed25519 key is read from the raw bytes of RFC 8032, which verify its test 2") {
    def hex(text: String) = text.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
    val raw = hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    val signature = hex(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da" +
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    val key = PublicKeys.ed25519(raw).get
    assertEquals(key.getEncoded.toSeq.takeRight(32), raw.toSeq)
    assert(PublicKeys.verifies(key, hex("72"), signature))
    Seq(raw.drop(1), raw :+ 0.toByte, Array.emptyByteArray).foreach { bytes =>
      assertEquals(PublicKeys.ed25519(bytes), None, Base64.getEncoder.encodeToString(bytes))
    }
  }

  test("a KMS that does not sign says so, and names those that do") {
    val kms = new HeldKeys(Map("m" -> AesKey.of(new Array[Byte](16), "test")))
    val failed = intercept[PmeException](kms.signingKey("release", "table t"))
    assertEquals(failed.getCondition(), "PME_UNSUPPORTED")
    Seq("table t: ", kms.describe, "'release'", "keystore, Vault, or the KMS of a cloud").foreach { words =>
      assert(failed.getMessage.contains(words), failed.getMessage)
    }
  }
}
