package io.pmeparquet.spark.snapshot

import java.io.StringWriter
import java.nio.file.{Files, Path}

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.appender.WriterAppender
import org.apache.logging.log4j.core.layout.PatternLayout
import org.apache.logging.log4j.core.Logger

import io.pmeparquet.parquet.summary.SummaryKind
import io.pmeparquet.spark.{AlteredFile, SealedSuite}
import io.pmeparquet.spark.admin.seal.IndexRequests
import io.pmeparquet.testkit.LastDigits
import io.pmeparquet.Condition.{BadOption, UnknownColumn}

/** An index that cannot be used costs skipping and one warning. It never costs rows, and never runs a class unasked. */
class UnusableIndexesSuite extends SealedSuite {

  /** What the connector warns of indexes during the block, with the result of it. */
  private def warnings[A](block: => A): Seq[String] = {
    val writer = new StringWriter
    val layout = PatternLayout.createDefaultLayout()
    val name = s"seen-${System.nanoTime}"
    val appender = WriterAppender.createAppender(layout, null, writer, name, false, true)
    appender.start()
    val logger = LogManager.getLogger("io.pmeparquet").asInstanceOf[Logger]
    val level = logger.getLevel
    logger.addAppender(appender)
    logger.setLevel(Level.WARN)
    try block
    finally {
      logger.removeAppender(appender)
      logger.setLevel(level)
    }
    writer.toString.split("\n").toSeq.filter(_.contains("no file is skipped by index"))
  }

  private val table = new Kept(path => {
    save(numbers().selectExpr("id", "id AS n"), path)
    seal(path, indexes = minMax("id", "n"), session = fresh)
    ()
  })

  /** The only file of the index of a column. */
  private def indexFile(path: String, column: String): Path = {
    val manifest = Files.readAllLines(manifestOf(1, path)).get(0)
    def found(pattern: String) = pattern.r.findFirstMatchIn(manifest).get.group(1)
    val field = found(s"""\\["$column"\\],"field":"(index_\\d+)"""")
    snapshotsOf(path).resolve(found(s"""\\{"field":"$field","name":"([^"]+)""""))
  }

  for (
    (damage, change) <- Seq[(String, (Path, Path) => Any)](
      "missing" -> ((file, _) => delete(file)),
      "cut" -> ((file, _) => AlteredFile.change(file)(_.dropRight(20))),
      "altered" -> ((file, _) => AlteredFile.flip(file, Files.size(file).toInt / 2)),
      "swapped" -> ((file, other) => AlteredFile.replace(file, Files.readAllBytes(other)))
    )
  ) test(s"a damaged index costs skipping and one warning: $damage") {
    val path = table()
    val file = indexFile(path, "id")
    val content = Files.readAllBytes(file)
    change(file, indexFile(path, "n"))
    for (session <- Seq(spark, fresh); how <- scans) {
      val logged = warnings {
        val frame = load(path, how, session).where("id = 5 AND id < 100")
        assertEquals((filesRead(frame), ids(frame)), (2, Seq(5L)))
        for (condition <- Seq("id = 5 AND n = 5", "n = 5"))
          assertEquals(filesRead(load(path, how, session).where(condition)), 1)
      }
      // One for a session, a version and an index. The second scan warns again unless it shares the scope of keys.
      assert(logged.size == 1 || (how("scan") == "v2" && logged.isEmpty), logged)
      assert(logged.forall(_.contains("minMax(id)")), logged)
    }
    AlteredFile.replace(file, content)
    // A session does not try again at once, with the same options.
    assertEquals(filesRead(load(path, scans.head).where("id = 5")), 2)
    assertEquals(filesRead(load(path, scans.head, fresh).where("id = 5")), 1)
  }

  private val digits = classOf[LastDigits].getName
  private def ofClass(name: String, settings: (String, String)*) =
    Some(Seq(IndexRequests.of("n", SummaryKind.OfClass(name, settings))))

  test("a class of the user's is loaded only if the read names it") {
    save(numbers().selectExpr("id", "id * 10 + int(id / 10) AS n"))
    seal(options = kms + ("indexClasses" -> digits), indexes = ofClass(digits))
    for (how <- scans) {
      val refusals = warnings {
        for (options <- Seq(how, how + ("indexClasses" -> "some.Other")))
          assertEquals(filesRead(load(target, options).where("n = 51")), 2)
      }
      assertEquals(refusals.size, 2)
      assert(refusals.forall(line => line.contains("class(n)") && line.contains("indexClasses")), refusals)
      val none = warnings {
        val allowed = load(target, how + ("indexClasses" -> s"some.Other, $digits"))
        for ((condition, needed) <- Seq("n = 51" -> 1, "n = 57" -> 0, "n > 51" -> 2, "n <=> 50" -> 1))
          assertEquals(filesRead(allowed.where(condition)), needed, condition)
        assertEquals(ids(allowed.where("n = 151")), Seq(15L))
        setOptions(Map("indexClasses" -> digits))
        assertEquals(filesRead(load(target, how).where("n = 51")), 1)
        spark.conf.unset("spark.datasource.pme-parquet.indexClasses")
      }
      assertEquals(none, Nil)
    }
    // A manifest does not choose code for the seal of another file either.
    plant(numbers(20, 5, files = 1).selectExpr("id", "id AS n"))
    untouched() { refused(BadOption, digits, "indexClasses")(seal()); () }
    assertEquals(seal(options = kms + ("indexClasses" -> digits)).opened, 1L)
  }

  test("a class that fails, and other indexes that cannot be made, make no version") {
    save(numbers().selectExpr("id", "id AS n"))
    val allowing = kms + ("indexClasses" -> s"$digits, some.Missing")
    for (
      (indexes, words) <- Seq(
        ofClass(digits, "basis" -> "7") -> Seq("basis is no setting"),
        ofClass("some.Missing") -> Seq("some.Missing", "the class cannot be used"),
        Some(Seq(0.01, 0.1).map(fpp => IndexRequests.of("id", SummaryKind.Bloom(fpp, None)))) ->
          Seq("it is asked for twice, with different settings")
      )
    ) untouched() { refused(BadOption, words: _*)(seal(options = allowing, indexes = indexes)); () }
    untouched() {
      val nowhere = Some(Seq(IndexRequests.of("nowhere", SummaryKind.Bloom(0.01, None))))
      refused(UnknownColumn, "has no column 'nowhere' to index")(seal(indexes = nowhere))
      refused(UnknownColumn, "option indexKeys names 'ssn', but no index has such a column") {
        seal(options = kms + ("indexKeys" -> "pay: ssn"), indexes = minMax("id"))
      }
      ()
    }
    seal(options = allowing, indexes = ofClass(digits, "base" -> "7"))
    // The class divides by another base than its summaries were made with.
    assertEquals(filesRead(load(target, Map("indexClasses" -> digits)).where("n = 5")), 2)
    assertEquals(ids(load().where("n = 5")), Seq(5L))
  }
}
