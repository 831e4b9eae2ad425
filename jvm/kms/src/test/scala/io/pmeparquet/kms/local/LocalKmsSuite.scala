package io.pmeparquet.kms.local

import java.io.ByteArrayOutputStream
import java.security.{KeyStore, Provider}
import java.util.Base64
import javax.crypto.spec.SecretKeySpec

import munit.FunSuite
import org.bouncycastle.jce.provider.BouncyCastleProvider

import io.pmeparquet.{AesKey, PmeException, Secret}

/** Master keys in this process: listed in a secret, or in a Java keystore. */
class LocalKmsSuite extends FunSuite {
  private def key(fill: Int, bytes: Int = 16) = AesKey.of(Array.fill(bytes)(fill.toByte), "test")
  private def static(entries: (String, AesKey)*) = new StaticKms(entries.toMap)

  private def keystore(
      storeType: String,
      provider: Option[Provider],
      entries: (String, AesKey)*
  ): Array[Byte] = {
    val store = provider.fold(KeyStore.getInstance(storeType))(KeyStore.getInstance(storeType, _))
    val password = "pw".toCharArray
    store.load(null, password)
    entries.foreach { case (name, k) =>
      store.setEntry(
        name,
        new KeyStore.SecretKeyEntry(new SecretKeySpec(k.insecureBytes, "AES")),
        new KeyStore.PasswordProtection(password)
      )
    }
    val out = new ByteArrayOutputStream
    store.store(out, password)
    out.toByteArray
  }

  private def condition(run: => Any): String = intercept[PmeException](run).getCondition()

  test("a key wrapped under a master key comes back") {
    Seq(16, 24, 32).foreach { bytes =>
      val kms = static("m" -> key(9, 32))
      assertEquals(kms.unwrap(kms.wrap(key(5, bytes), "m", "w"), "m", "w"), key(5, bytes))
    }
  }

  test("a wrapped key does not open under another key of the same name") {
    val wrapped = static("m" -> key(1)).wrap(key(5), "m", "w")
    assertEquals(condition(static("m" -> key(2)).unwrap(wrapped, "m", "w")), "PME_NOT_AUTHENTIC")
  }

  test("a wrapped key does not open under another name of the same key") {
    val kms = static("m" -> key(1), "n" -> key(1))
    assertEquals(condition(kms.unwrap(kms.wrap(key(5), "m", "w"), "n", "w")), "PME_NOT_AUTHENTIC")
  }

  test("every bent bit of a wrapped key is noticed") {
    val kms = static("m" -> key(1))
    val wrapped = Base64.getDecoder.decode(kms.wrap(key(5), "m", "w"))
    for (bit <- 0 until wrapped.length * 8) {
      val bent = wrapped.clone()
      bent(bit / 8) = (bent(bit / 8) ^ (1 << (bit % 8))).toByte
      assertEquals(
        condition(kms.unwrap(Base64.getEncoder.encodeToString(bent), "m", "w")),
        "PME_NOT_AUTHENTIC"
      )
    }
  }

  test("a wrapped key that is too short, too long or not base64 is refused before any cipher") {
    val kms = static("m" -> key(1))
    Seq("", "AAAA", "A" * 200, "!!!!").foreach { text =>
      assertEquals(condition(kms.unwrap(text, "m", "w")), "PME_KEY_METADATA")
    }
  }

  test("static keys are read from lines, and the error shows a bad line's number, not its content") {
    val text = "# comment\n\nfooter=" + Base64.getEncoder.encodeToString(new Array[Byte](16)) + "\n"
    assert(StaticKms.parse(new Secret(text)).directKey("footer", "w").isDefined)
    Seq("footer", "a=AAAA", "a=%%%secret%%%", "").foreach { bad =>
      val failed = intercept[PmeException](StaticKms.parse(new Secret(bad)))
      assertEquals(failed.getCondition(), "PME_BAD_OPTION")
      assert(!failed.getMessage.contains("%%%") && !failed.getMessage.contains("AAAA"))
    }
  }

  private def opened(storeType: String, content: Array[Byte], password: String = "pw") =
    KeystoreKms.open("k.p12", storeType, Some(content), new Secret(password), timeoutMillis = 30000)

  test("a PKCS12 keystore wraps and unwraps as static keys do") {
    val kms = opened("PKCS12", keystore("PKCS12", None, "m" -> key(7)))
    assertEquals(static("m" -> key(7)).unwrap(kms.wrap(key(5), "m", "w"), "m", "w"), key(5))
    assertEquals(condition(kms.wrap(key(5), "absent", "w")), "PME_KEY_NOT_FOUND")
  }

  test(
    "a PKCS12 keystore wraps only under a key's own name, and unwraps what was wrapped under it in other letters"
  ) {
    val kms = opened("PKCS12", keystore("PKCS12", None, "pii" -> key(7)))
    val refused = intercept[PmeException](kms.wrap(key(5), "PII", "w"))
    assertEquals(refused.getCondition(), "PME_KEY_NOT_FOUND")
    assert(refused.getMessage.contains("'pii', in another case"), refused.getMessage)
    assertEquals(kms.unwrap(static("PII" -> key(7)).wrap(key(5), "PII", "w"), "PII", "w"), key(5))
  }

  test("a BCFKS keystore opens with BouncyCastle on the class path and not installed") {
    val content = keystore("BCFKS", Some(new BouncyCastleProvider), "m" -> key(7))
    val kms = opened("BCFKS", content)
    assertEquals(kms.directKey("m", "w"), Some(key(7)))
  }

  test("a keystore with a wrong password, damaged, or of an unknown type says so") {
    val content = keystore("PKCS12", None, "m" -> key(7))
    def open(storeType: String, bytes: Array[Byte], password: String) =
      intercept[PmeException](opened(storeType, bytes, password))
    val wrong = open("PKCS12", content, "hunter2")
    assertEquals(wrong.getCondition(), "PME_KMS_UNAVAILABLE")
    assert(wrong.getMessage.contains("password is wrong") && !wrong.getMessage.contains("hunter2"))
    assertEquals(open("PKCS12", content.take(50), "pw").getCondition(), "PME_KMS_UNAVAILABLE")
    assertEquals(open("NOSUCH", content, "pw").getCondition(), "PME_UNSUPPORTED")
  }
}
