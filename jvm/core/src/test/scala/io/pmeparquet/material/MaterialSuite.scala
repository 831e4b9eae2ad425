package io.pmeparquet.material

import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.util.Base64

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeException}
import io.pmeparquet.keys.{
  CountingKms,
  HeldKeys,
  Invocations,
  IssuedKey,
  KeySource,
  Kms,
  KmsSource,
  WrappedKey
}

/** Key material and key metadata, and keys wrapped and unwrapped by way of them. */
class MaterialSuite extends FunSuite {
  private val random = new SecureRandom(Array[Byte](1))
  private def key(fill: Int, bytes: Int = 16) = AesKey.of(Array.fill(bytes)(fill.toByte), "test")
  private def held(entries: (String, AesKey)*) = new HeldKeys(entries.toMap)

  private def condition(run: => Any): String = intercept[PmeException](run).getCondition()

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
    override def unwrap(keys: Seq[WrappedKey], where: String): Seq[Either[PmeException, IssuedKey]] =
      keys.map(one => Right(new IssuedKey(kms.unwrap(one.wrapped, one.masterKeyId, where), 1000)))
    override def wrap(key: AesKey, id: String, where: String): String = kms.wrap(key, id, where)
    override def directKey(id: String, where: String): Option[AesKey] = kms.directKey(id, where)
    override def reserve(id: String, uses: Long, where: String): Unit = fail("not for tests of wrapped keys")
  }

  private def source(kms: Kms, lifetime: Long = 1000, now: () => Long = () => 0L) =
    new KmsSource(kms, lifetime, now)

  test("a job asks the KMS once per master key, and a reader once per key-encryption key until it expires") {
    val kms = new CountingKms(held("a" -> key(1), "b" -> key(2)))
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
    val kms = new CountingKms(held("a" -> key(1)))
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
    val keks = JobKeks.make(source(held("a" -> key(1))), Seq("a"), 128, "job")
    val wrapper = new DoubleWrapper(keks)
    (1 to 3).foreach(n => wrapper.wrap(key(n), "a", isFooterKey = false, "f"))
    assertEquals(keks.of("a").used.total, 3L)
  }

  test("material moved to another master key's name does not open, warm or cold") {
    val kms = held("a" -> key(1), "b" -> key(2))
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

  test("a wrapped key does not open under another name of its master key") {
    val kms = held("a" -> key(1), "b" -> key(1))
    val wrapped = kms.wrap(key(3), "a", "f")
    assertEquals(kms.unwrap(wrapped, "a", "f"), key(3))
    assertEquals(condition(kms.unwrap(wrapped, "b", "f")), "PME_NOT_AUTHENTIC")
  }

  test("the id of a key-encryption key has 16 bytes, in the only base64 that they have") {
    def id(bytes: Int) = Base64.getEncoder.encodeToString(new Array[Byte](bytes))
    assertEquals(KeyMaterial.kekAad(id(16), "f").toSeq, Seq.fill(16)(0.toByte))
    val otherForms = Seq(id(16).dropRight(2), id(16).dropRight(3) + "B==", "?")
    (Seq(0, 1, 8, 15, 17, 32).map(id) ++ otherForms).foreach { bad =>
      assertEquals(condition(KeyMaterial.kekAad(bad, "f")), "PME_KEY_METADATA", bad)
    }
    // Neither key material nor who opens a key takes another one.
    val kms = held("a" -> key(1))
    val honest =
      new DoubleWrapper(JobKeks.make(source(kms), Seq("a"), 128, "job"))
        .wrap(key(3), "a", isFooterKey = false, "f")
    val long = honest.copy(kek = honest.kek.map(_.copy(id = id(17))))
    assertEquals(condition(KeyMaterial.parse(long.toJson(internal = false), "f")), "PME_KEY_METADATA")
    assertEquals(condition(metadata(long.toJson(internal = true))), "PME_KEY_METADATA")
    assertEquals(condition(new DataKeyUnwrapper(source(kms), 1000).unwrap(long, "f")), "PME_KEY_METADATA")
  }
}
