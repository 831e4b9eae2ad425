package io.pmeparquet.spark.keys

import io.pmeparquet.Condition.{KeyDenied, KeyNotFound, KmsUnavailable}
import io.pmeparquet.PmeException

/**
 * A KMS that refuses, or is gone, is asked once for what it did not give, not once for each file or task; what it gave
 * is read, and a write leaves nothing.
 */
class KmsFailuresSuite extends CountedSuite {
  private val rememberedMillis = 10000L

  /** Fails if a key was asked for more often than once for each time that a refusal is remembered. */
  private def atMostOnce(calls: => Map[String, Int])(block: => Any): Unit = {
    val began = System.nanoTime
    block
    val most = 1 + (System.nanoTime - began) / 1000000 / rememberedMillis
    assert(calls.nonEmpty && calls.values.max <= most, calls)
  }

  for (way <- ways) {
    test(s"a refused column key is asked for once, and the error names its column: ${nameOf(way)}") {
      val user = KeyGuard().deny("k1")
      atMostOnce(user.unwraps) {
        val frame = reader(user.options ++ way).load(twenty)
        refused(KeyDenied, "'k1'", "c1", ".parquet")(frame.collect())
        refused(KeyDenied, "'k1'", "c1", ".parquet")(frame.select("c1").collect())
      }
      assertEquals(user.unwraps("footer"), 1)
      assert(user.unwraps.contains("k1"))
    }

    test(s"columns with granted keys are read next to a refused one: ${nameOf(way)}") {
      val user = KeyGuard().deny("k1")
      val frame = reader(user.options ++ way).load(twenty)
      val others = rows(content(3, 20).select("id", "c0", "c2"))
      assertEquals(rows(frame.select("id", "c0", "c2")), others)
      assertEquals(user.unwraps, Map("footer" -> 1, "k0" -> 1, "k2" -> 1))
      atMostOnce(user.unwraps) {
        refused(KeyDenied, "'k1'")(frame.select("id", "c1").collect())
        assertEquals(rows(frame.select("id", "c0", "c2")), others)
      }
      assertEquals(user.unwraps.keySet, Set("footer", "k0", "k1", "k2"))
    }

    test(s"a refused footer key is asked for once: ${nameOf(way)}") {
      val user = KeyGuard().deny("footer")
      atMostOnce(user.unwraps) {
        refused(KeyDenied, "'footer'", ".parquet")(known(user, twenty, way).collect())
      }
      assertEquals(user.unwraps.keySet, Set("footer"))
    }

    for ((kind, gone) <- Seq("refuses" -> KeyGuard.refuses, "times out" -> KeyGuard.timesOut))
      test(s"a KMS that is gone is asked once for many tasks: ${nameOf(way)}, $kind") {
        val user = KeyGuard()
        user.left = 0
        user.gone = gone
        atMostOnce(user.unwraps) {
          refused(KmsUnavailable, ".parquet")(reader(user.options ++ way).load(twenty))
          for (_ <- 1 to 2) refused(KmsUnavailable, ".parquet")(known(user, twenty, way).collect())
        }
        assertEquals(user.unwraps.keySet, Set("footer"))
      }

    test(s"a KMS that goes between planning and reading is asked once for each key: ${nameOf(way)}") {
      val (user, other) = (KeyGuard(), KeyGuard())
      val frame = reader(user.options ++ way).load(twenty)
      user.left = 0
      atMostOnce(user.unwraps)(refused(KmsUnavailable, ".parquet")(frame.collect()))
      // Another user does not learn of it.
      assertEquals(rows(reader(other.options ++ way).load(twenty)), rows(content(3, 20)))
    }
  }

  for (way <- ways.filterNot(_ == Map("scan" -> "v2", "reader" -> "spark")))
    test(s"a KMS that goes during a read ends it after few calls, and is asked again: ${nameOf(way)}") {
      val path = made("table", 3, 20, "doubleWrapping" -> "false")
      val user = KeyGuard()
      user.left = 5
      refused(KmsUnavailable, ".parquet")(known(user, path, way).collect())
      // Two tasks ask for the keys of four modules at the same time.
      val asked = user.unwraps.values.sum
      assert(asked > 5 && asked <= 5 + 2 * 2 * 4, user.unwraps)
      assertEquals(rows(known(KeyGuard(), path, way)), rows(content(3, 20)))
    }

  test("a key that the KMS no longer has is asked for once, and takes its columns and no others") {
    for (way <- some) {
      val user = KeyGuard()
      user.failing = Map("k1" -> (() => new IllegalArgumentException("no such key")))
      val frame = reader(user.options ++ way).load(twenty)
      assertEquals(rows(frame.select("id", "c0", "c2")), rows(content(3, 20).select("id", "c0", "c2")))
      atMostOnce(user.unwraps) {
        for (_ <- 1 to 3) refused(KeyNotFound, "'k1'", "c1", ".parquet")(frame.select("c1").collect())
      }
      assertEquals(user.unwraps.keySet, Set("footer", "k0", "k1", "k2"))
    }
  }

  test("the error of a refused reader names the file that it asked for") {
    // What is remembered of a refusal is not the place where it happened first.
    val user = KeyGuard().deny("footer")
    atMostOnce(user.unwraps) {
      for (name <- reader(kms).load(twenty).inputFiles.sorted.take(3))
        refused(KeyDenied, name.split('/').last)(known(user, name).collect())
    }
  }

  for (mode <- Seq("errorifexists", "overwrite")) {
    test(s"a write under a refused key asks once, and leaves nothing: $mode") {
      val user = KeyGuard().deny("k1")
      val writer = wide(3, 20).write.format("pme-parquet").options(user.options ++ encrypting(3))
      untouched()(refused(KeyDenied, "'k1'")(writer.mode(mode).save(target)))
      assertEquals(user.wraps("k1"), 1)
      assertEquals(user.wraps.values.max, 1)
      assert(!exists(target))
    }

    test(s"a write without its KMS asks once for each key, and leaves nothing: $mode") {
      val user = KeyGuard()
      user.left = 0
      val writer = wide(3, 20).write.format("pme-parquet").options(user.options ++ encrypting(3))
      untouched()(refused(KmsUnavailable)(writer.mode(mode).save(target)))
      assertEquals(user.wraps.values.max, 1)
      assert(!exists(target))
    }
  }

  for ((kind, gone) <- Seq("refuses" -> KeyGuard.refuses, "times out" -> KeyGuard.timesOut))
    test(s"an overwrite without its KMS leaves the table: $kind") {
      val user = KeyGuard()
      append(target, 3, 2, user.options)
      user.clear()
      user.left = 0
      user.gone = gone
      val writer = wide(3, 1).write.format("pme-parquet").options(user.options ++ encrypting(3))
      untouched()(refused(KmsUnavailable)(writer.mode("overwrite").save(target)))
      assertEquals(user.wraps, Map("footer" -> 1))
      assertEquals(reader(kms).load(target).count(), 2L * perFile)
    }

  test("a KMS that goes during a write leaves nothing of it") {
    val user = KeyGuard()
    // The driver tries four keys before there is a job; then there is one file, and a part of another.
    user.left = 4 + 4 + 1
    val single = user.options ++ encrypting(3) + ("doubleWrapping" -> "false")
    // The message names a file of Spark's own, which looks like a secret.
    val failed = intercept[Exception](write(wide(3, 1), single + ("maxRecordsPerFile" -> "1")))
    assertEquals(PmeException.find(failed).map(_.condition), Some(KmsUnavailable))
    assert(user.wraps.values.sum <= 4 + 4 + 1 + 4, user.wraps)
    assertEquals(allFiles(), Nil)
    assert(!exists(s"$target/_temporary"))
  }

  test("a KMS that goes when a write has begun is not missed") {
    val user = KeyGuard()
    user.left = 4
    write(wide(3, 1), user.options ++ encrypting(3) + ("maxRecordsPerFile" -> "1"))
    assertEquals(user.wraps, each(3))
    assertEquals(rows(reader(kms).load(target)), rows(content(3, 1)))
  }

  test("a stream whose KMS goes stops, and goes on where it was") {
    val (source, user) = (made("source", 3, 1), KeyGuard())
    def stream() = {
      // The source is read by who has no keys yet.
      val sink = arriving(source, KeyGuard()).writeStream.format("pme-parquet")
      sink.options(user.options ++ encrypting(3))
    }
    run(stream(), 1, target)
    append(source, 3, 2)
    user.clear()
    val done = files()
    user.left = 0
    for (_ <- 1 to 2) refused(KmsUnavailable)(run(stream(), 0, target))
    assertEquals(files(), done)
    assertEquals(user.wraps, Map("footer" -> 2))
    user.left = Int.MaxValue
    run(stream(), 2, target)
    assertEquals(rows(reader(kms).load(target)), rows(content(3, 1).union(wide(3, 2))))
  }
}
