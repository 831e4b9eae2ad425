package io.pmeparquet.keys

import java.security.SecureRandom
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.JavaConverters._

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeErrors, PmeException}

/** Several keys at once: who asks a KMS for them, how often, and who gets which answer. */
class KmsBatchSuite extends FunSuite {
  private val random = new SecureRandom
  private val static = new HeldKeys(Seq("a", "b", "c").map(_ -> AesKey.random(256, random)).toMap)

  private def newKeys(count: Int) = Seq.fill(count)(AesKey.random(128, random))
  private def conditions(answers: Seq[Either[PmeException, Any]]) =
    answers.map(_.fold(_.getCondition(), _ => "ok"))
  private def unavailable = PmeErrors.kmsUnavailable("t", "test")
  private def missing = PmeErrors.keyNotFound("t", "a", "test")

  private val ways: Seq[(String, Seq[Int] => (Int => Int) => Seq[Either[PmeException, Int]])] = Seq(
    "one by one" -> (items => call => Kms.oneByOne(items)(call)),
    "at once" -> (items => call => Kms.atOnce(items)(call))
  )

  ways.foreach { case (name, way) =>
    test(s"$name: answers come in their order, and a failure is of its own item") {
      val answers = way(1 to 100)(item => if (item % 7 == 0) throw missing else item)
      val expected = (1 to 100).map(item => if (item % 7 == 0) "PME_KEY_NOT_FOUND" else "ok")
      assertEquals(conditions(answers), expected)
      assertEquals(answers.flatMap(_.toOption), (1 to 100).filter(_ % 7 != 0))
      assertEquals(way(Nil)(identity), Nil)
    }

    test(s"$name: a KMS that does not serve is asked once, and one that refuses for each") {
      val asked = new AtomicInteger
      val answers = way(1 to 100) { _ => asked.incrementAndGet(); throw unavailable }
      assertEquals(conditions(answers), Seq.fill(100)("PME_KMS_UNAVAILABLE"))
      assertEquals(asked.get, 1)
      val refused = way(1 to 100) { _ => asked.incrementAndGet(); throw missing }
      assertEquals(conditions(refused), Seq.fill(100)("PME_KEY_NOT_FOUND"))
      assertEquals(asked.get, 101)
    }
  }

  test("calls that have others made do not block each other") {
    def nested(depth: Int): Int =
      if (depth == 0) 1 else KmsThreads.all(Seq.fill(KmsThreads.Most + 8)(() => nested(depth - 1))).sum
    assertEquals(nested(2), (KmsThreads.Most + 8) * (KmsThreads.Most + 8))
  }

  test("all calls have ended when the failure of one is thrown") {
    val ended = new AtomicInteger
    intercept[PmeException] {
      KmsThreads.all((1 to 50).map(n => () => if (n == 2) throw unavailable else ended.incrementAndGet()))
    }
    assertEquals(ended.get, 49)
  }

  test("keys of one master key are wrapped together, the first master key's by themselves") {
    val kms = new BatchKms(static)
    val keys = newKeys(7).zip(Seq("a", "b", "a", "c", "b", "a", "c"))
    val wrapped = new KmsSource(kms, 1000).wrapAll(keys :+ keys.head, "t")
    assertEquals(kms.asked.head, "wrap a 3")
    assertEquals(kms.asked.sorted, Seq("wrap a 3", "wrap b 2", "wrap c 2"))
    assertEquals(wrapped.last, wrapped.head)
    keys.zip(wrapped).foreach { case ((key, id), text) => assertEquals(static.unwrap(text, id, "t"), key) }
  }

  test("a write whose first master key is not served asks for no other") {
    val kms = new BatchKms(static, down = true)
    val failed =
      intercept[PmeException](new KmsSource(kms, 1000).wrapAll(newKeys(3).zip(Seq("a", "b", "c")), "t"))
    assertEquals(failed.getCondition(), "PME_KMS_UNAVAILABLE")
    assertEquals(kms.asked, Seq("wrap a 1"))
  }

  test("keys that are prepared are asked for together, unless nothing is remembered of them") {
    val keys = newKeys(5).map(key => WrappedKey("a", static.wrap(key, "a", "t"), None))
    def asked(lifetimeMillis: Long) = {
      val kms = new BatchKms(static)
      val source = new KmsSource(kms, lifetimeMillis, () => 0L)
      source.prepare(keys :+ WrappedKey("absent", "x", None), "t")
      source.prepare(keys.take(1), "t")
      keys.foreach(key => assert(source.unwrap(Seq(key), "t").head.isRight))
      kms.asked.sorted
    }
    assertEquals(asked(lifetimeMillis = 1000), Seq("unwrap a 5", "unwrap absent 1"))
    assertEquals(asked(lifetimeMillis = 0), Seq.fill(5)("unwrap a 1"))
  }
}

/** A KMS with calls for several keys; writes down what it is asked. */
final class BatchKms(inner: Kms, rewraps: Boolean = false, @volatile var down: Boolean = false) extends Kms {
  private val calls = new ConcurrentLinkedQueue[String]
  def asked: Seq[String] = calls.asScala.toSeq

  override def describe: String = "batches"
  override def wrap(key: AesKey, id: String, where: String): String = throw new UnsupportedOperationException
  override def unwrap(text: String, id: String, where: String): AesKey =
    throw new UnsupportedOperationException
  override def directKey(id: String, where: String): Option[AesKey] = None

  override def wrapAll(keys: Seq[AesKey], id: String, where: String): Seq[Either[PmeException, String]] =
    called("wrap", id, keys, where)(inner.wrapAll(_, id, where))

  override def unwrapAll(texts: Seq[String], id: String, where: String): Seq[Either[PmeException, AesKey]] =
    called("unwrap", id, texts, where)(inner.unwrapAll(_, id, where))

  override def rewrapAll(
      texts: Seq[String],
      id: String,
      where: String
  ): Option[Seq[Either[PmeException, String]]] =
    if (!rewraps) None
    else
      Some(called("rewrap", id, texts, where) { some =>
        inner.unwrapAll(some, id, where).map(_.map(inner.wrap(_, id, where)))
      })

  private def called[A, B](what: String, id: String, items: Seq[A], where: String)(
      call: Seq[A] => Seq[Either[PmeException, B]]
  ): Seq[Either[PmeException, B]] = {
    calls.add(s"$what $id ${items.size}")
    if (down && what != "unwrap") items.map(_ => Left(PmeErrors.kmsUnavailable(where, "test")))
    else call(items)
  }
}
