package io.pmeparquet.orc.keys

import java.security.SecureRandom
import java.util.concurrent.{Callable, Executors}

import scala.collection.JavaConverters._

import munit.FunSuite
import org.apache.orc.{EncryptionAlgorithm, InMemoryKeystore}
import org.apache.orc.impl.HadoopShims

import io.pmeparquet.{AesKey, PmeException}
import io.pmeparquet.keys.{CountingKms, HeldKeys, Kms}

/** Local keys of ORC files, as the driver decrypts them: under which master key, and at what cost. */
class OrcLocalKeysSuite extends FunSuite {
  private val random = new SecureRandom
  private val (short, long) = (AesKey.random(128, random), AesKey.random(256, random))
  private val where = "test"

  private def keys(
      kms: Kms,
      wrapped: Seq[WrappedMasterKey] = Nil,
      hasHadoop: Boolean = false,
      allowed: Option[Set[OrcKeyName]] = None,
      now: () => Long = () => 0
  ) = new OrcLocalKeys(kms, hasHadoop, wrapped, allowed, 1000, now)

  private def held(some: (String, AesKey)*) = new HeldKeys(some.toMap)
  private def condition(run: => Any) = intercept[PmeException](run).getCondition()
  private def request(bytes: Int) = OrcLocalKeys.requestOf(Array.fill(bytes)(3.toByte))

  /** What ORC's memory provider makes: the key, and its encrypted form. */
  private def made(algorithm: EncryptionAlgorithm, version: Int, master: AesKey) = {
    val store = new InMemoryKeystore(random).addKey("pii", version, algorithm, master.insecureBytes)
    val local = store.createLocalKey(new HadoopShims.KeyMetadata("pii", version, algorithm))
    AesKey.of(local.getDecryptedKey.getEncoded, where) -> local.getEncryptedKey
  }

  /** Wraps master keys under `wrapping` of a KMS that gives no key out. */
  private val wrapping = AesKey.random(256, random)
  private def closed = new Closed(held("wrapping" -> wrapping))
  private def wrappedKey(name: Option[String], master: AesKey) =
    WrappedMasterKey(name.map(OrcKeyName.parse), "wrapping", closed.wrap(master, "wrapping", where))

  test("keys of ORC's memory provider open, with each algorithm, version and length of master key") {
    for {
      (algorithm, master) <- Seq(
        EncryptionAlgorithm.AES_CTR_128 -> short,
        EncryptionAlgorithm.AES_CTR_128 -> long,
        EncryptionAlgorithm.AES_CTR_256 -> long
      )
      version <- Seq(0, 1, 12)
    } {
      val (key, encrypted) = made(algorithm, version, master)
      val kms = held(s"pii@$version" -> master)
      assertEquals(keys(kms).unwrap(OrcLocalKeys.requestOf(encrypted), s"pii@$version", where), key)
    }
  }

  test("version 0 is also the key without a number, and no other version is") {
    val (key, encrypted) = made(EncryptionAlgorithm.AES_CTR_128, 0, short)
    val asked = OrcLocalKeys.requestOf(encrypted)
    val named = keys(held("pii" -> short))
    assertEquals(named.unwrap(asked, "pii@0", where), key)
    assertEquals(condition(named.unwrap(asked, "pii@1", where)), "PME_KEY_DENIED")
    // The number is more exact.
    assertEquals(keys(held("pii" -> long, "pii@0" -> short)).unwrap(asked, "pii@0", where), key)
  }

  test("a key that the KMS does not have counts as denied, and the message names it and the KMS") {
    val failed = intercept[PmeException](keys(held()).unwrap(request(16), "pii@3", "file f"))
    assertEquals(failed.getCondition(), "PME_KEY_DENIED")
    assert(Seq("file f", "'pii@3'", "held keys").forall(failed.getMessage.contains(_)), failed.getMessage)
  }

  test("a KMS that gives no key out cannot open them, and the message says what can") {
    val failed = intercept[PmeException](keys(closed).unwrap(request(16), "pii@0", where))
    assertEquals(failed.getCondition(), "PME_KEY_DENIED")
    assert(failed.getMessage.contains("orcMasterKeys"))
    assert(!keys(closed).decrypts(OrcKeyName("pii", 0), where))
  }

  test("a failure of the KMS stays what it is") {
    assertEquals(condition(keys(new Down).unwrap(request(16), "pii@0", where)), "PME_KMS_UNAVAILABLE")
  }

  test("a master key that is too short, or a local key of a length that ORC does not have, is refused") {
    val kms = keys(held("pii" -> short))
    assertEquals(condition(kms.unwrap(request(32), "pii@0", where)), "PME_KEY_METADATA")
    for (bytes <- Seq(0, 1, 15, 17, 24, 33))
      assertEquals(condition(kms.unwrap(request(bytes), "pii@0", where)), "PME_KEY_METADATA", s"$bytes bytes")
  }

  test(
    "a wrapped master key is unwrapped once, for all local keys and threads, and again when its time is over"
  ) {
    var clock = 0L
    val kms = new CountingKms(closed, pauseMillis = 50)
    val own = keys(kms, Seq(wrappedKey(Some("pii@2"), short)), now = () => clock)
    val local = Seq.fill(40)(made(EncryptionAlgorithm.AES_CTR_128, 2, short))
    val threads = Executors.newFixedThreadPool(8)
    try {
      val asked = local.map { case (_, encrypted) =>
        new Callable[AesKey] {
          override def call(): AesKey = own.unwrap(OrcLocalKeys.requestOf(encrypted), "pii@2", where)
        }
      }
      assertEquals(threads.invokeAll(asked.asJava).asScala.map(_.get).toSeq, local.map(_._1))
    } finally threads.shutdown()
    assertEquals(kms.unwraps, 1)
    clock = 1001
    own.sweep()
    own.unwrap(OrcLocalKeys.requestOf(local.head._2), "pii@2", where)
    assertEquals(kms.unwraps, 2)
  }

  test("a wrapped master key takes the place of the KMS's own; one without a name serves every name") {
    val (key, encrypted) = made(EncryptionAlgorithm.AES_CTR_256, 0, long)
    val asked = OrcLocalKeys.requestOf(encrypted)
    val (mine, every) = (wrappedKey(Some("pii"), long), wrappedKey(None, long))
    val both = new HeldKeysAnd(held("pii" -> short), closed)
    assertEquals(keys(both, Seq(mine)).unwrap(asked, "pii@0", where), key)
    assertEquals(keys(closed, Seq(every)).unwrap(asked, "pii@0", where), key)
    assertEquals(keys(closed, Seq(every)).unwrap(asked, "other@5", where), key)
    val other = wrappedKey(None, AesKey.random(256, random))
    assertEquals(keys(closed, Seq(other, mine)).unwrap(asked, "pii@0", where), key)
    assertEquals(condition(keys(closed, Seq(mine)).unwrap(asked, "pii@1", where)), "PME_KEY_DENIED")
    assertEquals(keys(closed, Seq(mine)).bitsOf(OrcKeyName("pii", 0), where), Some(256))
  }

  test("a wrapped master key that was altered, or that another key wraps, is not authentic") {
    val mine = wrappedKey(Some("pii"), short)
    val bent = mine.copy(wrapped = mine.wrapped.reverse)
    intercept[PmeException](keys(closed, Seq(bent)).unwrap(request(16), "pii@0", where))
    val moved = new Closed(held("wrapping" -> short))
    assertEquals(condition(keys(moved, Seq(mine)).unwrap(request(16), "pii@0", where)), "PME_NOT_AUTHENTIC")
  }

  test("master keys themselves are never given out") {
    assertEquals(keys(held("pii" -> short)).directKey("pii", where), None)
  }

  test("a write opens local keys of its own master keys, and nothing else") {
    val kms = held("pii" -> short, "pay" -> short)
    val write = keys(kms, allowed = Some(Set(OrcKeyName("pii", 0))))
    write.unwrap(request(16), "pii@0", where)
    assertEquals(condition(write.unwrap(request(16), "pay@0", where)), "PME_KEY_DENIED")
    assertEquals(condition(write.unwrap(request(16), "pii@1", where)), "PME_KEY_DENIED")
    val wrapped = kms.wrap(long, "pii", where)
    assertEquals(condition(write.unwrap(wrapped, "pii", where)), "PME_KEY_DENIED")
    // A read unwraps what other ORC files have: keys that a KMS wraps.
    assertEquals(keys(kms).unwrap(wrapped, "pii", where), long)
  }

  test("a Hadoop KMS is asked for each local key, by the key's name and version") {
    val kms = new Noting
    val own = keys(kms, hasHadoop = true)
    assertEquals(own.unwrap(request(16), "pii@4", where), kms.answer)
    assertEquals(kms.asked, Seq("pii" -> ("hadoop-orc:4:" + request(16).drop(4))))
    assertEquals(own.bitsOf(OrcKeyName("pii", 4), where), None)
    // Except for master keys that it wraps.
    val wrapped = WrappedMasterKey(Some(OrcKeyName("pay", 0)), "wrapping", "text")
    keys(kms, Seq(wrapped), hasHadoop = true).unwrap(request(16), "pay@0", where)
    assertEquals(kms.asked.last, "wrapping" -> "text")
  }
}

/** A KMS that gives no key out, as Vault and clouds. */
private final class Closed(inner: Kms) extends Kms {
  override def describe: String = "closed"
  override def wrap(key: AesKey, id: String, where: String): String = inner.wrap(key, id, where)
  override def unwrap(text: String, id: String, where: String): AesKey = inner.unwrap(text, id, where)
  override def directKey(id: String, where: String): Option[AesKey] = None
}

/** A KMS that gives keys out, and unwraps what another one wraps. */
private final class HeldKeysAnd(open: Kms, other: Kms) extends Kms {
  override def describe: String = "both"
  override def wrap(key: AesKey, id: String, where: String): String = other.wrap(key, id, where)
  override def unwrap(text: String, id: String, where: String): AesKey = other.unwrap(text, id, where)
  override def directKey(id: String, where: String): Option[AesKey] = open.directKey(id, where)
}

private final class Down extends Kms {
  override def describe: String = "down"
  override def wrap(key: AesKey, id: String, where: String): String = throw failed(where)
  override def unwrap(text: String, id: String, where: String): AesKey = throw failed(where)
  override def directKey(id: String, where: String): Option[AesKey] = throw failed(where)
  private def failed(where: String) = io.pmeparquet.PmeErrors.kmsUnavailable(where, "it is down", null)
}

private final class Noting extends Kms {
  val answer: AesKey = AesKey.of(Array.fill(16)(9.toByte), "noting")
  var asked: Seq[(String, String)] = Nil
  override def describe: String = "noting"
  override def wrap(key: AesKey, id: String, where: String): String = throw new UnsupportedOperationException
  override def unwrap(text: String, id: String, where: String): AesKey = {
    asked :+= id -> text
    answer
  }
  override def directKey(id: String, where: String): Option[AesKey] = None
}
