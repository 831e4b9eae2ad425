package io.pmeparquet.keys

import java.security.SecureRandom

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeErrors}

/** Keys wrapped again: each once, each shown to open, and never more calls than it takes. */
class RewrappingSuite extends FunSuite {
  private val random = new SecureRandom
  private def masters(names: String*) = new HeldKeys(names.map(_ -> AesKey.random(256, random)).toMap)

  private def rewrapping(before: Kms, after: Option[Kms] = None) = {
    val kms = new RotationKms(before, after)
    new Rewrapping(kms, new KmsSource(kms, 600000))
  }

  private def wrapped(kms: Kms, id: String, keys: AesKey*) =
    keys.map(key => WrappedKey(id, kms.wrap(key, id, "t"), None))

  private def failure(answer: Either[io.pmeparquet.PmeException, WrappedKey]) =
    answer.left.toOption.map(_.getCondition())

  test("each distinct key is wrapped once, and opens under its new master key") {
    val static = masters("a", "b")
    val kms = new CountingKms(static)
    val key = AesKey.random(128, random)
    val old = wrapped(static, "a", key).head
    val one = rewrapping(kms)
    val first = one(Seq(old -> "b", old -> "b"), "t")(old).toOption.get
    assertEquals(one(Seq(old -> "b"), "t")(old), Right(first))
    assertEquals(static.unwrap(first.wrapped, "b", "t"), key)
    assertEquals((kms.wraps, kms.unwraps), (1, 2))
  }

  test("what opens as another key is not taken") {
    val static = masters("a", "b")
    object Liar extends Kms {
      override def describe: String = "liar"
      override def wrap(key: AesKey, id: String, where: String): String =
        static.wrap(AesKey.random(128, random), id, where)
      override def unwrap(text: String, id: String, where: String): AesKey = static.unwrap(text, id, where)
      override def directKey(id: String, where: String): Option[AesKey] = None
    }
    val old = wrapped(static, "a", AesKey.random(128, random)).head
    assertEquals(failure(rewrapping(Liar)(Seq(old -> "b"), "t")(old)), Some("PME_KMS_UNAVAILABLE"))
  }

  test("a key that the other KMS opens is done; if neither opens it, the first one's error remains") {
    val (before, after) = (masters("a"), masters("a"))
    val done = wrapped(after, "a", AesKey.random(128, random)).head
    val lost = wrapped(masters("a"), "a", AesKey.random(128, random)).head
    val answers = rewrapping(before, Some(after))(Seq(done -> "a", lost -> "a"), "t")
    assertEquals(answers(done), Right(done))
    assertEquals(failure(answers(lost)), Some("PME_NOT_AUTHENTIC"))
  }

  test("a KMS that does not serve is asked to wrap once, however many keys there are") {
    val static = masters("a")
    var asked = 0
    var down = true
    object Down extends Kms {
      override def describe: String = "down"
      override def wrap(key: AesKey, id: String, where: String): String = {
        asked += 1
        if (down) throw PmeErrors.kmsUnavailable(where, "test")
        static.wrap(key, id, where)
      }
      override def unwrap(text: String, id: String, where: String): AesKey = static.unwrap(text, id, where)
      override def directKey(id: String, where: String): Option[AesKey] = None
    }
    val keys = wrapped(static, "a", Seq.fill(100)(AesKey.random(128, random)): _*)
    val rewrap = rewrapping(Down)
    val answers = rewrap(keys.map(_ -> "a"), "t")
    assertEquals(answers.values.map(failure).toSet, Set(Option("PME_KMS_UNAVAILABLE")))
    assertEquals(asked, 1)
    // The next files' keys are another matter.
    down = false
    assertEquals(rewrap(keys.take(3).map(_ -> "a"), "t").values.map(failure).toSet, Set(Option.empty[String]))
  }

  test("keys that go from one master key to one are wrapped together, and shown to open together") {
    val static = masters("a", "b", "c")
    val kms = new BatchKms(static)
    val keys = Seq.fill(20)(AesKey.random(128, random))
    val old = wrapped(static, "a", keys.take(12): _*) ++ wrapped(static, "b", keys.drop(12): _*)
    val answers = rewrapping(kms)(old.map(_ -> "c"), "t")
    assertEquals(old.map(one => static.unwrap(answers(one).toOption.get.wrapped, "c", "t")), keys)
    val calls = Seq("unwrap a 12", "unwrap b 8", "unwrap c 12", "unwrap c 8", "wrap c 12", "wrap c 8")
    assertEquals(kms.asked.sorted, calls)
  }

  test("a KMS that rewraps by itself does so only if a key stays in it and under its master key") {
    val static = masters("a", "b")
    def asked(after: Option[Kms], target: String) = {
      val kms = new BatchKms(static, rewraps = true)
      val old = wrapped(static, "a", Seq.fill(3)(AesKey.random(128, random)): _*)
      assertEquals(rewrapping(kms, after)(old.map(_ -> target), "t").values.flatMap(failure(_)).toSeq, Nil)
      kms.asked
    }
    assertEquals(asked(None, "a"), Seq("unwrap a 3", "rewrap a 3", "unwrap a 3"))
    assertEquals(asked(None, "b"), Seq("unwrap a 3", "wrap b 3", "unwrap b 3"))
    assertEquals(asked(Some(masters("a")), "a"), Seq("unwrap a 3"))
  }

  test("a KMS's answer for one key counts for no other") {
    val static = masters("a")
    val keys = wrapped(static, "a", Seq.fill(9)(AesKey.random(128, random)): _*)
    object Picky extends Kms {
      override def describe: String = "picky"
      override def wrap(key: AesKey, id: String, where: String): String = static.wrap(key, id, where)
      override def unwrap(text: String, id: String, where: String): AesKey = static.unwrap(text, id, where)
      override def directKey(id: String, where: String): Option[AesKey] = None
      override def rewrapAll(texts: Seq[String], id: String, where: String) = {
        def lie = static.wrap(AesKey.random(128, random), id, where)
        val answers = texts.map(text => Right(static.wrap(static.unwrap(text, id, where), id, where)))
        val refused = Left(PmeErrors.kmsUnavailable(where, "test"))
        Some(answers.updated(3, Right(lie)).updated(5, Right("no key")).updated(7, refused))
      }
    }
    val answers = rewrapping(Picky)(keys.map(_ -> "a"), "t")
    val bad = Map(3 -> "PME_KMS_UNAVAILABLE", 5 -> "PME_KEY_METADATA", 7 -> "PME_KMS_UNAVAILABLE")
    assertEquals(keys.map(key => failure(answers(key))), keys.indices.map(bad.get))
  }

  test("a KMS that does not serve is asked to wrap once, however many master keys there are") {
    val ids = Seq("a", "b", "c")
    val static = masters(ids: _*)
    val kms = new BatchKms(static, down = true)
    val keys = ids.flatMap(id => wrapped(static, id, AesKey.random(128, random)))
    val rewrap = rewrapping(kms)
    val answers = rewrap(keys.map(key => key -> key.masterKeyId), "t")
    assertEquals(answers.values.map(failure).toSet, Set(Option("PME_KMS_UNAVAILABLE")))
    assertEquals(kms.asked.count(_.startsWith("wrap")), 1)
  }

  test("what was ended while it went on is refused to nobody") {
    val static = masters("a")
    object Ended extends Kms {
      override def describe: String = "ended"
      override def wrap(key: AesKey, id: String, where: String): String =
        throw PmeErrors.kmsUnavailable(where, "test", new InterruptedException)
      override def unwrap(text: String, id: String, where: String): AesKey = static.unwrap(text, id, where)
      override def directKey(id: String, where: String): Option[AesKey] = None
    }
    val keys = wrapped(static, "a", Seq.fill(3)(AesKey.random(128, random)): _*)
    intercept[io.pmeparquet.PmeException](rewrapping(Ended)(keys.map(_ -> "a"), "t"))
  }
}
