package io.pmeparquet.keys

import java.security.SecureRandom

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeErrors}

/** Keys wrapped anew: each once, each shown to open, and never more calls than it takes. */
class RewrappingSuite extends FunSuite {
  private val random = new SecureRandom
  private def masters(names: String*) = new StaticKms(names.map(_ -> AesKey.random(256, random)).toMap)

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

  test("a key that the other KMS opens is done; what neither opens says what the first said") {
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
}
