package io.pmeparquet.keys

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.security.{KeyStore, Provider, SecureRandom}
import java.util.Base64
import javax.crypto.spec.SecretKeySpec

import munit.FunSuite
import org.bouncycastle.jce.provider.BouncyCastleProvider

import io.pmeparquet.{AesKey, PmeException, Secret}

class KeysSuite extends FunSuite {
  private val random = new SecureRandom(Array[Byte](1))
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

  test("static keys are read from lines, and a bad line is told by number, not by content") {
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
    assert(refused.getMessage.contains("'pii', in other letters"), refused.getMessage)
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

  private def metadata(json: String) = KeyMetadata.parse(json.getBytes(UTF_8), "f")
  private val material =
    KeyMaterial(
      isFooterKey = true,
      "m",
      "d2R",
      Some(KeyMaterial.Kek("aWQ" + "A" * 19 + "==", "a2Vr")),
      Some("I" -> "U")
    )

  test("key material says what it was given, internal and external, single and double wrapped") {
    Seq(material, material.copy(kek = None), material.copy(isFooterKey = false, kms = None)).foreach { one =>
      assertEquals(
        metadata(one.toJson(internal = true)),
        KeyMetadata.Internal(one.copy(kms = None)): KeyMetadata
      )
      assertEquals(KeyMaterial.parse(one.toJson(internal = false), "f"), one.copy(kms = None))
    }
    val reference = KeyMetadata.External("footerKey")
    assertEquals(KeyMetadata.parse(KeyMetadata.bytesOf(reference), "f"), reference: KeyMetadata)
    assertEquals(metadata("kf"), KeyMetadata.Direct("kf"): KeyMetadata)
  }

  test("key metadata that is garbage, deep, huge, doubled or not text is refused") {
    val json = material.toJson(internal = true)
    val bad = Seq(
      "{",
      "{}",
      "[]x\u0000",
      json + "x",
      json.replace("PKMT1", "PKMT2"),
      json.replace("\"masterKeyID\":\"m\"", "\"masterKeyID\":7"),
      json.replace("\"masterKeyID\":\"m\"", "\"masterKeyID\":\"m\",\"masterKeyID\":\"n\""),
      json.replace("\"masterKeyID\":\"m\",", ""),
      "{\"keyMaterialType\":" + "[" * 5000 + "]" * 5000 + "}",
      "x" * 70000,
      "{" + " " * 70000 + "}",
      ""
    )
    bad.foreach(text => assertEquals(condition(metadata(text)), "PME_KEY_METADATA", text.take(60)))
    assertEquals(condition(KeyMetadata.parse(Array(0xc3.toByte, 0x28.toByte), "f")), "PME_KEY_METADATA")
  }

  /** A source without memory, for tests of an unwrapper's. */
  private def forgetful(kms: Kms): KeySource = new KeySource {
    override def describe: String = kms.describe
    override def instance: (String, String) = ("", "")
    override def unwrap(keys: Seq[WrappedKey], where: String): Seq[Either[PmeException, LentKey]] =
      keys.map(one => Right(new LentKey(kms.unwrap(one.wrapped, one.masterKeyId, where), 1000)))
    override def wrap(key: AesKey, id: String, where: String): String = kms.wrap(key, id, where)
    override def directKey(id: String, where: String): Option[AesKey] = kms.directKey(id, where)
  }

  private def source(kms: Kms, lifetime: Long = 1000, now: () => Long = () => 0L) =
    new KmsSource(kms, lifetime, now)

  test("a job asks the KMS once per master key, and a reader once per key-encryption key until it expires") {
    val kms = new CountingKms(static("a" -> key(1), "b" -> key(2)))
    val wrapper = new DoubleWrapper(JobKeks.make(source(kms), Seq("a", "b", "a"), 128, "job"))
    val wrapped =
      for (id <- Seq("a", "b"); n <- 1 to 50)
        yield wrapper.wrap(key(n), id, isFooterKey = false, "f") -> key(n)
    assertEquals(kms.wraps, 2)
    var clock = 0L
    val unwrapper = new DataKeyUnwrapper(source(kms, now = () => clock), 1000, () => clock)
    wrapped.foreach { case (one, expected) => assertEquals(unwrapper.unwrap(one, "f"), expected) }
    assertEquals(kms.unwraps, 2)
    clock = 2000
    unwrapper.unwrap(wrapped.head._1, "f")
    assertEquals(kms.unwraps, 3)
  }

  test("a singly wrapped key is asked for once too, and at most a thousand are kept") {
    val kms = new CountingKms(static("a" -> key(1)))
    val unwrapper = new DataKeyUnwrapper(forgetful(kms), 1000, () => 0L)
    val many =
      (0 to 1000).map(n => new SingleWrapper(source(kms)).wrap(key(n % 100), "a", isFooterKey = false, "f"))
    def unwraps(material: KeyMaterial) = { unwrapper.unwrap(material, "f"); kms.unwraps }
    assertEquals(unwraps(many.head), 1)
    assertEquals(unwraps(many.head), 1)
    many.tail.foreach(unwraps)
    assertEquals(kms.unwraps, 1001)
    assertEquals(unwraps(many.last), 1001)
    assertEquals(unwraps(many.head), 1002)
  }

  test("a key is not used more often than random nonces allow") {
    assertEquals(Invocations.Limit, 1L << 32)
    val used = new Invocations(limit = 2)
    used.count("f")
    used.count("f")
    assert(intercept[IllegalStateException](used.count("f")).getMessage.contains("f: "))
  }

  test("a key-encryption key counts each data key it wraps") {
    val keks = JobKeks.make(source(static("a" -> key(1))), Seq("a"), 128, "job")
    val wrapper = new DoubleWrapper(keks)
    (1 to 3).foreach(n => wrapper.wrap(key(n), "a", isFooterKey = false, "f"))
    assertEquals(keks.of("a").used.total, 3L)
  }

  test("material moved to another master key's name does not open, warm or cold") {
    val kms = static("a" -> key(1), "b" -> key(2))
    val honest =
      new DoubleWrapper(JobKeks.make(source(kms), Seq("a"), 128, "job"))
        .wrap(key(3), "a", isFooterKey = false, "f")
    val unwrapper = new DataKeyUnwrapper(source(kms), 1000)
    unwrapper.unwrap(honest, "f")
    assertEquals(condition(unwrapper.unwrap(honest.copy(masterKeyId = "b"), "f")), "PME_NOT_AUTHENTIC")
  }

  test("nonces of wrapped keys do not repeat") {
    val nonces =
      (1 to 1000).map(_ =>
        LocalWrap.wrap(key(1), key(2).toSecretKey, Array.emptyByteArray, random, "f").take(16)
      )
    assertEquals(nonces.distinct.size, 1000)
  }
}
