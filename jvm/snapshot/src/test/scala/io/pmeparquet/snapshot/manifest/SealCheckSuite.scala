package io.pmeparquet.snapshot.manifest

import java.nio.charset.StandardCharsets.UTF_8
import java.security.{KeyPair, KeyPairGenerator, PublicKey, SecureRandom}
import java.security.spec.ECGenParameterSpec

import io.pmeparquet.columns.KeyNames
import io.pmeparquet.keys.PublicKeys
import io.pmeparquet.snapshot.TableSuite
import io.pmeparquet.snapshot.TableSuite.{Damaged, NotAuthentic}
import io.pmeparquet.AesKey

class SealCheckSuite extends TableSuite {
  private val content = "{\"version\":1}".getBytes(UTF_8)
  private val altered = "{\"version\":2}".getBytes(UTF_8)

  private def edwards() = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()
  private def p256() = {
    val generator = KeyPairGenerator.getInstance("EC")
    generator.initialize(new ECGenParameterSpec("secp256r1"))
    generator.generateKeyPair()
  }

  private def check(
      verifyKey: Option[PublicKey] = None,
      footerKey: Option[String] = None,
      allowed: Option[Set[String]] = None,
      masterKeys: Seq[String] = Seq("footer", "pii")
  ) = new SealCheck(verifyKey, footerKey, allowed.map(KeyNames(_)), keys(masterKeys: _*))

  private def signed(pair: KeyPair): SealLine =
    new SignatureSealer("signer", new PairSigningKey(pair)).seal(content, "t")
  private def hmac(key: String): SealLine = new HmacSealer(key, keys("footer", "pii")).seal(content, "t")

  private def bent(seal: SealLine, at: Int) = {
    val value = seal.value.clone()
    value(at) = (value(at) ^ 1).toByte
    seal.copy(value = value)
  }

  Seq("Ed25519" -> (() => edwards()), "SHA256withECDSA" -> (() => p256())).foreach { case (algorithm, make) =>
    val (pair, other) = (make(), make())
    val own = check(Some(pair.getPublic))

    test(s"$algorithm: a signature is accepted by its public key, whatever the id says") {
      val seal = signed(pair)
      assertEquals(seal.algorithm, algorithm)
      assertEquals(seal.key, "signer")
      assertEquals(seal.wrappedKey, None)
      own.require(content, seal, "t")
      own.require(content, seal.copy(key = "another"), "t")
    }

    test(s"$algorithm: altered content is refused") {
      val seal = signed(pair)
      Seq(altered, content :+ ' '.toByte, content.dropRight(1), Array.empty[Byte]).foreach { other =>
        refused(NotAuthentic, "t: ", "does not verify")(own.require(other, seal, "t"))
      }
    }

    test(s"$algorithm: a signature with any bit of any byte altered, cut or continued is refused") {
      val seal = signed(pair)
      seal.value.indices.foreach(at => refused(NotAuthentic)(own.require(content, bent(seal, at), "t")))
      seal.value.indices.foreach { length =>
        refused(NotAuthentic)(own.require(content, seal.copy(value = seal.value.take(length)), "t"))
      }
      Seq(1, 64).foreach { more =>
        val longer = seal.value ++ new Array[Byte](more)
        refused(NotAuthentic)(own.require(content, seal.copy(value = longer), "t"))
      }
    }

    test(s"$algorithm: another key is refused")(
      refused(NotAuthentic, "does not verify")(own.require(content, signed(other), "t"))
    )

    test(s"$algorithm: where verifyKey is set, no HMAC is accepted, even one that matches") {
      val seal = hmac("footer")
      refused(NotAuthentic, "HMAC-SHA256", algorithm)(own.require(content, seal, "t"))
      refused(NotAuthentic)(own.require(content, seal.copy(algorithm = algorithm), "t"))
    }

    test(s"$algorithm: without verifyKey a signature is refused, with the id of its key")(
      refused(NotAuthentic, "verifyKey is not set", algorithm, "'signer'")(
        check().require(content, signed(pair), "t")
      )
    )
  }

  test("a signature of one kind is not one of the other") {
    val (first, second) = (edwards(), p256())
    refused(NotAuthentic)(check(Some(second.getPublic)).require(content, signed(first), "t"))
    refused(NotAuthentic)(check(Some(first.getPublic)).require(content, signed(second), "t"))
    val renamed = signed(first).copy(algorithm = PublicKeys.EcdsaP256)
    refused(NotAuthentic)(check(Some(second.getPublic)).require(content, renamed, "t"))
  }

  test("an unknown algorithm is refused, with a key and without") {
    Seq("", "none", "hmac-sha256", "HMAC-SHA1", "SHA1withECDSA", "NONEwithECDSA", "x" * 10000).foreach {
      algorithm =>
        val seal = hmac("footer").copy(algorithm = algorithm)
        refused(NotAuthentic)(check().require(content, seal, "t"))
        val failed = refused(NotAuthentic)(check(Some(edwards().getPublic)).require(content, seal, "t"))
        assert(failed.getMessage.length < 1000, failed.getMessage.length)
    }
  }

  test("only supported keys sign") {
    val generator = KeyPairGenerator.getInstance("RSA")
    generator.initialize(2048)
    val rsa = generator.generateKeyPair()
    refused("PME_UNSUPPORTED", "signingKey", "'signer'")(
      new SignatureSealer("signer", new PairSigningKey(rsa))
    )
  }

  test("an HMAC is accepted with the master key of its key") {
    val seal = hmac("footer")
    assertEquals(seal.algorithm, "HMAC-SHA256")
    assertEquals(seal.value.length, 32)
    check().require(content, seal, "t")
    check(footerKey = Some("footer"), allowed = Some(Set("footer", "pii"))).require(content, seal, "t")
  }

  test("an HMAC with altered content, or altered, cut or continued, is refused") {
    val seal = hmac("footer")
    Seq(altered, content :+ ' '.toByte, Array.empty[Byte]).foreach { other =>
      refused(NotAuthentic, "does not match")(check().require(other, seal, "t"))
    }
    seal.value.indices.foreach { at =>
      refused(NotAuthentic)(check().require(content, bent(seal, at), "t"))
      refused(NotAuthentic)(check().require(content, seal.copy(value = seal.value.take(at)), "t"))
    }
    refused(NotAuthentic)(check().require(content, seal.copy(value = seal.value :+ 0.toByte), "t"))
  }

  test("each HMAC has a key of its own, and the key of another one does not verify it") {
    val (one, other) = (hmac("footer"), hmac("footer"))
    assertNotEquals(one.wrappedKey, other.wrappedKey)
    assertNotEquals(one.value.toSeq, other.value.toSeq)
    refused(NotAuthentic)(check().require(content, one.copy(wrappedKey = other.wrappedKey), "t"))
  }

  test("an HMAC under a key that was made for a file is refused, whatever its size") {
    val master = keys("footer")
    Seq(128, 192, 256).foreach { bits =>
      val key = AesKey.random(bits, new SecureRandom)
      val seal =
        SealLine(Seals.Hmac, "footer", Some(master.wrap(key, "footer", "t")), Seals.hmac(key, content))
      refused(NotAuthentic, "not one that seals are made with")(check().require(content, seal, "t"))
    }
  }

  test("an HMAC under a master key that is not the named footer key is refused")(
    refused(NotAuthentic, "'pii'", "'footer'")(
      check(footerKey = Some("footer")).require(content, hmac("pii"), "t")
    )
  )

  test("an HMAC under a master key that the read does not name is refused, and the KMS is not asked") {
    val never =
      new SealCheck(
        None,
        None,
        Some(KeyNames(Set("footer"))),
        throw new IllegalStateException("the KMS was asked")
      )
    refused(NotAuthentic, "'pii'", "footerKey and columnKeys")(never.require(content, hmac("pii"), "t"))
  }

  test("an HMAC whose master key's name was altered is refused")(
    refused(NotAuthentic)(check().require(content, hmac("footer").copy(key = "pii"), "t"))
  )

  test("an HMAC without a wrapped key is damaged, and one whose wrapped key was altered refused") {
    refused(Damaged, "no wrapped key")(check().require(content, hmac("footer").copy(wrappedKey = None), "t"))
    val seal = hmac("footer")
    val wrapped = seal.wrappedKey.map(text => (if (text.head == 'A') "B" else "A") + text.tail)
    refused(NotAuthentic, "unwrap")(check().require(content, seal.copy(wrappedKey = wrapped), "t"))
    Seq("", "*", "AQ=ID").foreach { malformed =>
      refused(Damaged, "malformed")(check().require(content, seal.copy(wrappedKey = Some(malformed)), "t"))
    }
  }

  test("the error says that a reader has no master key")(
    refused("PME_KEY_NOT_FOUND", "'footer'")(
      check(masterKeys = Seq("pii")).require(content, hmac("footer"), "t")
    )
  )

  test("a message shows only the beginning of a long name") {
    val seal = hmac("footer").copy(key = "x" * 10000)
    val failed = refused(NotAuthentic)(check(footerKey = Some("footer")).require(content, seal, "t"))
    assert(failed.getMessage.length < 1000, failed.getMessage.length)
  }
}
