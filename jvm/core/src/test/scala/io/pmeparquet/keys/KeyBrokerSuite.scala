package io.pmeparquet.keys

import java.io.{
  ByteArrayInputStream,
  ByteArrayOutputStream,
  InterruptedIOException,
  ObjectInputStream,
  ObjectOutputStream
}
import java.net.{ConnectException, SocketTimeoutException}
import java.nio.channels.ClosedByInterruptException
import java.security.SecureRandom
import java.util.concurrent.{Callable, Executors}

import scala.collection.JavaConverters._

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeErrors, PmeException}
import io.pmeparquet.material.{DataKeyUnwrapper, KeyMaterial, SharedKeks}

/** The way of keys from the KMS over the driver to executors, without Spark. */
class KeyBrokerSuite extends FunSuite {
  private val random = new SecureRandom
  private val master = Seq("a", "b").map(_ -> AesKey.random(256, random)).toMap
  private val static = new HeldKeys(master)
  private var asked = 0

  /** Brokers keep none. */
  private var sources = Seq.empty[KmsSource]

  private object Here extends KeyRoute {
    override def ask(request: Array[Byte], where: String): Array[Byte] = {
      asked += 1
      KeyBrokers.answer(request)
    }
  }

  private val toRead = KeyGrants.toRead(_ => false)
  private def wrapped(key: AesKey, id: String) = WrappedKey(id, static.wrap(key, id, "t"), None)
  private def failure(answer: Either[PmeException, IssuedKey]) = answer.left.toOption.map(_.getCondition())

  test("keys come in the order they were asked for, with their time, and refusals among them") {
    var clock = 0L
    val source = new KmsSource(new CountingKms(static), 1000, () => clock)
    val broker = KeyBrokers.open(source, Here, toRead)
    val (one, two) = (AesKey.random(128, random), AesKey.random(192, random))
    val wanted = Seq(wrapped(one, "a"), WrappedKey("absent", "x", Some("id")), wrapped(two, "b"))
    val first = broker.unwrap(wanted, "file f")
    assertEquals(first.map(_.toOption.map(_.key)), Seq(Some(one), None, Some(two)))
    assertEquals(failure(first(1)), Some("PME_KEY_NOT_FOUND"))
    assert(first(1).left.toOption.get.getMessage.contains("file f"))
    clock = 400
    assertEquals(broker.unwrap(wanted.take(1), "g").head.map(_.millis).toOption, Some(600L))
  }

  test("the driver counts uses of a direct key by all executors and jobs, whatever the key is called") {
    val same = new HeldKeys(master ++ Map("alias" -> master("a")))
    val uses = new KeyUses(limit = 100)
    var told = Seq.empty[String]
    def broker(names: String*) = {
      val source = new KmsSource(same, 0, halfUsed = id => told = told :+ id, uses = uses)
      sources = sources :+ source
      KeyBrokers.open(source, Here, KeyGrants.toWrite(names.toSet, areDirect = true))
    }
    broker("a").reserve("a", 40, "t")
    broker("a", "b").reserve("b", 100, "t")
    assertEquals(told, Seq("b"))
    // What is refused is not counted, and no number runs over.
    for (uses <- Seq(101L, 1L << 20))
      assertEquals(
        intercept[PmeException](broker("a").reserve("a", uses, "t")).getCondition(),
        "PME_KEY_NOT_FOUND"
      )
    for (uses <- Seq(0L, -1L, Long.MinValue, (1L << 20) + 1, Long.MaxValue))
      assertEquals(
        intercept[PmeException](broker("a").reserve("a", uses, "t")).getCondition(),
        "PME_KEY_DENIED"
      )
    broker("alias").reserve("alias", 40, "t")
    assertEquals(told, Seq("b", "alias"))
    val last = broker("a")
    last.reserve("a", 20, "t")
    val failed = intercept[PmeException](last.reserve("a", 1, "file f"))
    assertEquals(failed.getCondition(), "PME_KEY_NOT_FOUND")
    assert(failed.getMessage.contains("file f: master key 'a' cannot be used"), failed.getMessage)
    assertEquals(told, Seq("b", "alias"))
    assertEquals(
      intercept[PmeException](last.reserve("b", 1, "t")).getCondition(),
      intercept[PmeException](last.directKey("b", "t")).getCondition()
    )
  }

  test("the broker wraps and gives direct keys too, and passes refusals on") {
    val source = new KmsSource(static, 1000)
    def broker(areDirect: Boolean) =
      KeyBrokers.open(source, Here, KeyGrants.toWrite(Set("a", "absent"), areDirect))
    val key = AesKey.random(128, random)
    assertEquals(static.unwrap(broker(false).wrap(key, "a", "t"), "a", "t"), key)
    assertEquals(broker(true).directKey("a", "t"), Some(master("a")))
    def condition(ask: => Any) = intercept[PmeException](ask).getCondition()
    assertEquals(condition(broker(false).wrap(key, "absent", "t")), "PME_KEY_NOT_FOUND")
    assertEquals(condition(broker(true).directKey("absent", "t")), "PME_KEY_NOT_FOUND")
  }

  test("a broker gives out what its read or write has a use for, and no more") {
    val source = new KmsSource(static, 1000)
    val key = AesKey.random(128, random)
    def condition(ask: => Any) = intercept[PmeException](ask).getCondition()
    val read = KeyBrokers.open(source, Here, toRead)
    assertEquals(condition(read.directKey("a", "file f")), "PME_KEY_METADATA")
    assertEquals(condition(read.wrap(key, "a", "t")), "PME_KEY_DENIED")
    val direct = KeyBrokers.open(source, Here, KeyGrants.toRead(_ == "a"))
    assertEquals(direct.directKey("a", "t"), Some(master("a")))
    assertEquals(condition(direct.directKey("b", "t")), "PME_KEY_METADATA")
    def write(areDirect: Boolean) = KeyBrokers.open(source, Here, KeyGrants.toWrite(Set("a"), areDirect))
    assertEquals(condition(write(areDirect = false).wrap(key, "b", "t")), "PME_KEY_DENIED")
    assertEquals(condition(write(areDirect = false).directKey("a", "t")), "PME_KEY_METADATA")
    assertEquals(condition(write(areDirect = true).wrap(key, "a", "t")), "PME_KEY_DENIED")
    assertEquals(
      failure(write(areDirect = false).unwrap(Seq(wrapped(key, "a")), "t").head),
      Some("PME_KEY_DENIED")
    )
  }

  test("a broker crosses the wire without the KMS, prints no id, and answers nobody else") {
    val source = new KmsSource(static, 1000)
    val bytes = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(KeyBrokers.open(source, Route, toRead))
    val copy =
      new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject().asInstanceOf[KeyBroker]
    val key = AesKey.random(128, random)
    assertEquals(copy.unwrap(Seq(wrapped(key, "a")), "t").head.map(_.key).toOption, Some(key))
    assert(!master.values.exists(secret => bytes.toByteArray.containsSlice(secret.insecureBytes)))
    assertEquals(copy.toString, "KeyBroker(held keys)")
    val strange = KeyRequestCodec.bytesOf("no such id", KeyRequest.Unwrap(Seq(wrapped(key, "a")), "t"))
    assertEquals(
      failure(KeyRequestCodec.keysOf(KeyBrokers.answer(strange), 1, "t").head),
      Some("PME_KMS_UNAVAILABLE")
    )
    assertEquals(source.describe, "held keys")
  }

  test("writes of several processes share a key-encryption key for each master key, until its time is over") {
    var clock = 0L
    val source = new KmsSource(static, 1000)
    val keks = new SharedKeks(source, 1000, () => clock)
    val broker = KeyBrokers.open(source, Here, KeyGrants.toConfiguration, Some(keks))
    val first = broker.kek("a", 128, "t")
    assertEquals(static.unwrap(first.wrapped, "a", "t"), first.key)
    clock = 999
    assertEquals(broker.kek("a", 128, "t").wrapped, first.wrapped)
    assertNotEquals(broker.kek("b", 128, "t").wrapped, first.wrapped)
    assertEquals(broker.kek("a", 256, "t").key.bits, 256)
    clock = 1000
    val next = broker.kek("a", 128, "t")
    assertNotEquals(next.key, first.key)
    assert(!next.id.sameElements(first.id))
    def condition(ask: => Any) = intercept[PmeException](ask).getCondition()
    assertEquals(condition(broker.kek("absent", 128, "t")), "PME_KEY_NOT_FOUND")
    assertEquals(condition(broker.directKey("a", "t")), "PME_KEY_METADATA")
    val read = KeyBrokers.open(source, Here, toRead, Some(keks))
    assertEquals(condition(read.kek("a", 128, "t")), "PME_KEY_DENIED")
    val without = KeyBrokers.open(source, Here, KeyGrants.toConfiguration)
    assertEquals(condition(without.kek("a", 128, "t")), "PME_KEY_DENIED")
  }

  test("tasks of a stream's batch get new keys under its master keys, and wrap nothing themselves") {
    val source = new KmsSource(static, 1000)
    val batch =
      KeyBrokers.open(source, Here, KeyGrants.toBatch(_ == "a"), Some(new SharedKeks(source, 1000, () => 0L)))
    val kek = batch.kek("a", 128, "t")
    assertEquals(static.unwrap(kek.wrapped, "a", "t"), kek.key)
    def condition(ask: => Any) = intercept[PmeException](ask).getCondition()
    assertEquals(condition(batch.kek("b", 128, "t")), "PME_KEY_DENIED")
    assertEquals(condition(batch.wrap(kek.key, "a", "t")), "PME_KEY_DENIED")
    assertEquals(failure(batch.unwrap(Seq(wrapped(kek.key, "a")), "t").head), Some("PME_KEY_DENIED"))
  }

  test("a broker is handed over as bytes, or the reason why there is none") {
    val source = new KmsSource(static, 1000)
    val broker = KeyBrokers.open(source, Route, toRead)
    val Right(Some(taken)) = KeyBroker.taken(KeyBroker.handedOver(Right(Some(broker))), Here): @unchecked
    assertEquals((taken.describe, taken.instance), (broker.describe, broker.instance))
    val key = AesKey.random(128, random)
    asked = 0
    assertEquals(taken.unwrap(Seq(wrapped(key, "a")), "t").head.map(_.key).toOption, Some(key))
    assertEquals(asked, 1)
    assertEquals(KeyBroker.taken(KeyBroker.handedOver(Right(None)), Here), Right(None))
    val failed = KeyBroker.taken(KeyBroker.handedOver(Left(PmeErrors.kmsUnavailable("x", "it fails"))), Here)
    assertEquals(failed.left.toOption.map(_.getCondition()), Some("PME_KMS_UNAVAILABLE"))
  }

  test("many who want the same keys at the same time are one call for each key") {
    val kms = new CountingKms(static, pauseMillis = 20)
    val source = new KmsSource(kms, 60000)
    val keys = (1 to 10).map(n => wrapped(AesKey.random(128, random), if (n % 2 == 0) "a" else "b"))
    val threads = Executors.newFixedThreadPool(8)
    val ask: Callable[Seq[Either[PmeException, IssuedKey]]] =
      () => source.unwrap(random.ints(5, 0, 10).toArray.map(keys(_)).toSeq, "t")
    try threads.invokeAll(Seq.fill(100)(ask).asJava).forEach(done => assert(done.get.forall(_.isRight)))
    finally threads.shutdown()
    assertEquals(kms.unwraps, keys.size)
  }

  test("a refusal is remembered for some seconds, and names the file that asks") {
    var clock = 0L
    val kms = new CountingKms(static)
    val source = new KmsSource(kms, 1000, () => clock)
    val absent = Seq(WrappedKey("absent", "x", None))
    def ask(where: String) = source.unwrap(absent, where).head.left.toOption.get.getMessage
    assert(ask("file one").contains("file one"))
    (1 to 50).foreach(n =>
      assert(ask(s"file $n").contains(s"file $n: ") && !ask(s"file $n").contains("file one"))
    )
    assertEquals(kms.unwraps, 1)
    clock = 10000
    ask("later")
    assertEquals(kms.unwraps, 2)
  }

  test("a KMS that is too slow is not taken for a query that was ended: what it refuses is remembered") {
    def callsOf(failed: Exception): Int = {
      val kms = new CountingKms(new FailingKms(failed))
      val source = new KmsSource(kms, 1000)
      (1 to 3).foreach { _ =>
        val answer = source.unwrap(Seq(WrappedKey("a", "x", None)), "t").head
        assertEquals(failure(answer), Some("PME_KMS_UNAVAILABLE"))
      }
      kms.unwraps
    }
    assertEquals(callsOf(new SocketTimeoutException("Read timed out")), 1)
    assertEquals(callsOf(new ConnectException("Connection refused")), 1)
    assertEquals(callsOf(new InterruptedIOException), 3)
    assertEquals(callsOf(new InterruptedException), 3)
    assertEquals(callsOf(new ClosedByInterruptException), 3)
  }

  test("a key is asked for again when its time is over, and forgotten when it is swept") {
    var clock = 0L
    val kms = new CountingKms(static)
    val source = new KmsSource(kms, 1000, () => clock)
    val unwrapper = new DataKeyUnwrapper(KeyBrokers.open(source, Here, toRead), 1000, () => clock)
    val key = AesKey.random(128, random)
    val material = KeyMaterial(isFooterKey = true, "a", static.wrap(key, "a", "t"), None)
    clock = 100
    assertEquals(unwrapper.unwrap(material, "t"), key)
    clock = 1099
    unwrapper.unwrap(material, "t")
    assertEquals(kms.unwraps, 1)
    clock = 1100
    unwrapper.sweep()
    source.sweep()
    unwrapper.unwrap(material, "t")
    assertEquals(kms.unwraps, 2)
  }

  test("keys that are prepared are one request, and are then at hand") {
    val kms = new CountingKms(static)
    val source = new KmsSource(kms, 60000)
    val unwrapper = new DataKeyUnwrapper(KeyBrokers.open(source, Here, toRead), 60000)
    val materials = Seq("a", "b", "absent").map { id =>
      val text = if (id == "absent") "x" else static.wrap(AesKey.random(128, random), id, "t")
      KeyMaterial(isFooterKey = false, id, text, None)
    }
    asked = 0
    unwrapper.prepare(materials, "t")
    assertEquals((asked, kms.unwraps), (1, 3))
    materials.take(2).foreach(unwrapper.unwrap(_, "t"))
    assertEquals(asked, 1)
    assertEquals(
      intercept[PmeException](unwrapper.unwrap(materials.last, "t")).getCondition(),
      "PME_KEY_NOT_FOUND"
    )
    assertEquals((asked, kms.unwraps), (2, 3))
    assertEquals(source.describe, "counting")
  }
}

private final class FailingKms(cause: Exception) extends Kms {
  override def describe: String = "failing"
  override def wrap(key: AesKey, id: String, where: String): String = throw failed(where)
  override def unwrap(text: String, id: String, where: String): AesKey = throw failed(where)
  override def directKey(id: String, where: String): Option[AesKey] = throw failed(where)
  private def failed(where: String) = PmeErrors.kmsUnavailable(where, "it fails", cause)
}

/** As Spark's, it holds nothing. */
private case object Route extends KeyRoute {
  override def ask(request: Array[Byte], where: String): Array[Byte] = KeyBrokers.answer(request)
}
