package io.pmeparquet.spark.read

import java.io.UncheckedIOException
import java.net.ConnectException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import javax.crypto.AEADBadTagException

import io.pmeparquet.spark.{AlteredFile, GuardedSuite}
import io.pmeparquet.spark.keys.KeyGuard
import io.pmeparquet.Condition
import io.pmeparquet.Condition.{BadOption, KeyDenied, KeyMetadata, KeyNotFound, KmsUnavailable, NotAuthentic}

/** `deniedColumns`: readers learn what is masked, no key is asked for twice, and other failures stay errors. */
class DeniedKeysSuite extends GuardedSuite {
  private val modes = Seq("null", "drop")
  private def mode(name: String) = "deniedColumns" -> name

  // ---- what the log says, and what is asked

  for (scan <- scans)
    test(s"each query logs once which columns and keys it masks: $scan") {
      val frame = seen("scan" -> scan)
      for (_ <- 1 to 2) {
        val logged = warnings {
          // Two scans of two files each.
          val other = frame.selectExpr("id + 1 AS id", "ssn", "address")
          assertEquals(frame.selectExpr("id", "ssn", "address").join(other, "id").collect().length, 39)
        }
        assertEquals(logged.size, 1, logged)
        for (
          words <- Seq("ssn (master key 'pii')", "address.street (master key 'pii')", "read as NULL", "part-")
        )
          assert(logged.head.contains(words), logged.head)
      }
      assertEquals(warnings(frame.select("id", "salary").collect()), Nil)
    }

  test("columns that are left out are logged when the schema is inferred") {
    val logged = warnings(seen(mode("drop")).collect())
    assertEquals(logged.size, 1, logged)
    for (words <- Seq("deniedColumns=drop", "ssn (master key 'pii')", "schema"))
      assert(logged.head.contains(words), logged.head)
  }

  for (name <- modes)
    test(s"each key is asked for once: $name") {
      writeGuarded(content.repartition(8), target)
      val guard = KeyGuard().deny("pii")
      val frame = reader(asks(guard) + mode(name)).load(target)
      frame.collect()
      frame.collect()
      assertEquals(guard.unwraps, Map("footer" -> 1, "pii" -> 1, "pay" -> 1))
    }

  test("a refused column that is not selected is not asked for") {
    val guard = KeyGuard().deny("pii")
    reader(asks(guard)).load(guarded).select("id", "address.city").collect()
    assertEquals(guard.unwraps, Map("footer" -> 1))
  }

  for (place <- Seq("driver", "executor"))
    test(s"a column reads as NULL wherever the KMS is asked: $place") {
      assertEquals(rows(seen("kms.callFrom" -> place)), rows(masked))
    }

  // ---- what stays an error

  for (name <- modes; scan <- scans)
    test(s"a refused footer key is an error: $name, $scan") {
      val options = denied("footer") ++ Seq(mode(name), "scan" -> scan)
      refused(KeyDenied, "footer")(reader(options).load(guarded).collect())
    }

  private val failures = Seq[(Condition, () => RuntimeException)](
    (KeyNotFound, () => new IllegalArgumentException("no such key")),
    (KmsUnavailable, () => new UncheckedIOException(new ConnectException("test: refused"))),
    (NotAuthentic, () => new RuntimeException(new AEADBadTagException("test: altered")))
  )

  for (name <- modes; (condition, failure) <- failures)
    test(s"only a refusal masks: $name, ${condition.name}") {
      val guard = KeyGuard()
      guard.failing = Map("pii" -> failure)
      refused(condition, "ssn") {
        reader(asks(guard) + mode(name)).load(guarded).select("ssn").collect()
      }
    }

  test("a read without keys that are missing fails where the KMS is gone, or returns another key") {
    for (name <- modes; scan <- scans; (condition, failure) <- failures if condition != KeyNotFound) {
      val guard = KeyGuard()
      guard.failing = Map("pii" -> failure)
      val options = asks(guard) ++ Seq(mode(name), "missingKeys" -> name, "scan" -> scan)
      refused(condition, "ssn")(reader(options).load(guarded).select("ssn").collect())
      refused(condition, "ssn")(reader(options).schema("id bigint, ssn string").load(guarded).collect())
    }
  }

  for (scan <- scans)
    test(s"another key in place of the column's is an error: $scan") {
      for (name <- modes) {
        val guard = KeyGuard()
        guard.altered = Set("pii")
        val options = asks(guard) ++ Seq(mode(name), "missingKeys" -> name, "scan" -> scan)
        refused(NotAuthentic, "ssn")(reader(options).load(guarded).select("ssn").collect())
      }
    }

  test("a damaged page is an error") {
    writeGuarded(content.select("id", "ssn").coalesce(1), target, "columnKeys" -> "pii: ssn")
    AlteredFile.flipInModule(files().head, 1)
    refused(NotAuthentic, "'id'")(reader(denied("pii")).load(target).collect())
  }

  /** Writes a table in whose external material somebody has written that `salary` is under the refused key. */
  private def writeMisnamed(): Unit = {
    val frame = content.select("id", "salary").coalesce(1)
    writeGuarded(frame, target, "columnKeys" -> "pay: salary", "keyMaterial" -> "external")
    val material = allFiles().filter(_.getFileName.toString.startsWith("_KEY_MATERIAL_FOR_")).head
    val text = new String(Files.readAllBytes(material), UTF_8)
    val other = text.replaceFirst("(masterKeyID\\W+)pay", "$1pii")
    assertNotEquals(other, text)
    AlteredFile.replace(material, other.getBytes(UTF_8))
  }

  test("external material that names a refused key masks its column, with a warning") {
    writeMisnamed()
    val frame = reader(denied("pii")).load(target)
    val logged = warnings(assertEquals(values(frame.select("salary")), Set[Any](null)))
    assertEquals(logged.size, 1, logged)
    assert(logged.head.contains("salary (master key 'pii')"), logged.head)
    for (condition <- Seq("salary IS NULL", "salary > 20", "id = 3 OR salary = 4"))
      refused(KeyDenied, "'salary'", "'pii'")(frame.where(condition).collect())
    assertEquals(reader(denied("pii") + mode("drop")).load(target).columns.toSeq, Seq("id"))
  }

  test("external material that names another key than the reader's is an error") {
    writeMisnamed()
    refused(KeyDenied, "salary", "'pii'")(reader(denied("pii") + mode("error")).load(target).collect())
    // To a reader who names the table's keys, the error names no other.
    val bound = Seq("footerKey" -> "footer", "columnKeys" -> "pay: salary")
    for (name <- modes)
      refused(KeyMetadata, "salary", "'pii'") {
        reader(denied("pii") ++ bound + mode(name)).load(target).collect()
      }
  }

  for (name <- modes)
    test(s"Spark's own reader does not mask: $name") {
      refused(BadOption, "deniedColumns", "reader")(seen("reader" -> "spark", mode(name)).collect())
    }

  test("without the option, a refusal is an error") {
    refused(KeyDenied, "ssn")(seen(mode("error")).collect())
  }
}
