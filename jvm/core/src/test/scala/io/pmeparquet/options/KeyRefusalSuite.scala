package io.pmeparquet.options

import munit.FunSuite

import io.pmeparquet.{Condition, KeyRefusal}

/** Which options cover which reason for a key that a reader does not get. */
class KeyRefusalSuite extends FunSuite {
  private def settings(options: (String, String)*) = {
    val values = new OptionValues(Map[Level, Map[String, String]](Level.Option -> options.map {
      case (name, value) => name.toLowerCase -> value
    }.toMap))
    Settings.forRead(values, caseSensitive = false)
  }

  private val all = Seq[Condition](Condition.KeyDenied, Condition.KeyDestroyed, Condition.KeyNotFound)

  private def covered(options: (String, String)*) =
    all.filter(failure => settings(options: _*).masking.exists(_.covers(failure)))

  test("a destroyed key is covered by the option for denied keys, and by that for missing ones") {
    assertEquals(covered(), Nil)
    assertEquals(covered("deniedColumns" -> "null"), Seq(Condition.KeyDenied, Condition.KeyDestroyed))
    assertEquals(covered("missingKeys" -> "null"), Seq(Condition.KeyDestroyed, Condition.KeyNotFound))
    val both = settings("deniedColumns" -> "null", "missingKeys" -> "drop").masking.get
    assertEquals(all.map(both.leavesOut), Seq(false, true, true))
  }

  test("deniedFiles=skip leaves out files whose keys the KMS says are gone; others only with missingKeys") {
    def skipped(options: (String, String)*) = all.filter(settings(options: _*).leavesOutFile)
    assertEquals(skipped(), Nil)
    assertEquals(skipped("deniedFiles" -> "skip"), Seq(Condition.KeyDenied, Condition.KeyDestroyed))
    assertEquals(skipped("deniedFiles" -> "skip", "missingKeys" -> "null"), all)
  }

  test("a KMS that cannot be reached refuses nothing") {
    assert(!KeyRefusal.ByKms(Condition.KmsUnavailable) && KeyRefusal.NoKey(Condition.KmsUnavailable))
    assert(
      !settings("deniedFiles" -> "skip", "missingKeys" -> "null").leavesOutFile(Condition.KmsUnavailable)
    )
  }
}
