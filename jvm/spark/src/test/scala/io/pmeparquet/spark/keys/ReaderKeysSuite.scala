package io.pmeparquet.spark.keys

import java.nio.file.Files
import java.util.concurrent.Executors

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration.Duration

import org.apache.spark.sql.{DataFrame, SparkSession}

import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition.{KeyDenied, KeyNotFound, KmsUnavailable, NotAuthentic, PlaintextFile}
import io.pmeparquet.PmeException

/**
 * One path read with different keys in one query, and by sessions of one application, which share cached data and plans:
 * each reader sees what its own keys and settings open.
 */
class ReaderKeysSuite extends SparkSuite {
  private val names = Seq("footer", "pii", "pay")
  private def all = holding(names: _*)
  private def few = holding("footer", "pay")

  /** Keys of the same names, which are other keys. */
  private def others = held("theirs", names: _*)

  private val protection = Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn; pay: salary")

  private def writeShared(): Unit = write(people, all ++ protection)

  private def read(options: Map[String, String], path: String = target): DataFrame =
    reader(options).load(path)

  test("a limited reader sees its columns and is refused the others, in a union or a join with a full one") {
    writeShared()
    val (full, limited) = (read(all), read(few))
    assertEquals(rows(limited.select("salary")), rows(people.select("salary")))
    assertEquals(full.select("ssn").union(full.select("ssn")).count(), 80L)
    val joined = full.select("id", "ssn").join(limited.select("id", "salary"), "id")
    assertEquals(rows(joined.select("ssn", "salary", "id")), rows(people))
    for (
      query <- Seq(
        limited.select("ssn"),
        full.select("ssn").union(limited.select("ssn")),
        limited.select("ssn").union(full.select("ssn")),
        full.select("id", "ssn", "salary").join(limited.select("id", "ssn"), Seq("id", "ssn")),
        // Equal scans, which are not reused.
        full.groupBy("ssn").count().join(limited.groupBy("ssn").count(), "ssn")
      )
    ) refused(KeyNotFound, "'pii'")(query.collect())
  }

  test("a cached frame of one reader does not answer another") {
    writeShared()
    filled(read(all))(refused(KeyNotFound, "'pii'")(read(few).select("ssn").collect()))
  }

  test("views with different keys on one path keep their own") {
    writeShared()
    read(all).createOrReplaceTempView("everything")
    read(few).createOrReplaceTempView("little")
    val query = "SELECT e.ssn, l.salary FROM everything e JOIN little l USING (id) WHERE l.salary >= 57"
    assertEquals(rows(spark.sql(query)), Seq("[canary-38,57.0]", "[canary-39,58.5]"))
    refused(KeyNotFound, "'pii'")(spark.sql("SELECT ssn FROM little").collect())
  }

  /** What each of several threads gets, in order. */
  private def inThreads[A](count: Int)(run: Int => A): Seq[A] = {
    val pool = Executors.newFixedThreadPool(4)
    implicit val context: ExecutionContext = ExecutionContext.fromExecutor(pool)
    try Await.result(Future.sequence((0 until count).map(number => Future(run(number)))), Duration.Inf)
    finally pool.shutdown()
  }

  private def outcome(frame: => DataFrame): Any =
    try frame.select("ssn").distinct().count()
    catch { case failed: Exception => PmeException.find(failed).getOrElse(throw failed).condition }

  for (scan <- Seq("v1", "v2"))
    test(s"readers in threads keep their own keys: $scan") {
      writeShared()
      val readers = Seq(few, all, others).map(_ + ("scan" -> scan))
      val found =
        inThreads(9)(number => outcome(reader(readers(number % 3)).schema(people.schema).load(target)))
      assertEquals(found, Seq.fill(3)(Seq[Any](KeyNotFound, 40L, NotAuthentic)).flatten)
    }

  test("readers and writers in threads with other keys of the same names do not mix") {
    val sides = Seq(all, others)
    val found = inThreads(8) { number =>
      val path = s"$target-$number"
      write(people, sides(number % 2) ++ protection, path)
      rows(read(sides(number % 2), path))
    }
    assertEquals(found.distinct, Seq(rows(people)))
  }

  test(
    "frames keep the keys they were made with, and another key of the same name opens nothing, in any order"
  ) {
    write(people, all ++ protection)
    write(people, others ++ protection, s"$target-other")
    val (left, right) = (read(all), read(others, s"$target-other"))
    assertEquals(rows(right), rows(people))
    assertEquals(rows(left), rows(people))
    assertEquals(left.join(right.withColumnRenamed("ssn", "other"), "id").where("ssn = other").count(), 40L)
    for (_ <- 1 to 2) {
      refused(NotAuthentic, "'footer'")(read(others).collect())
      assertEquals(rows(read(all)), rows(people))
    }
    val wrong = reader(others).schema(people.schema).load(target)
    refused(NotAuthentic, "'footer'")(left.union(wrong).collect())
    for ((keys, own, other) <- Seq((all, target, s"$target-other"), (others, s"$target-other", target))) {
      setOptions(keys)
      assertEquals(rows(read(Map.empty, own)), rows(people))
      refused(NotAuthentic)(read(Map.empty, other).collect())
    }
  }

  test("keys replaced at their place are read again") {
    write(people, all ++ protection)
    write(people, others ++ protection, s"$target-other")
    val moving = directory.resolve("moving")
    val options = Map("kms" -> "static", "kms.static.keys" -> s"file:$moving")
    for (
      (owner, own, other) <- Seq(("mine", target, s"$target-other"), ("theirs", s"$target-other", target))
    ) {
      Files.write(moving, keyLines(owner, names: _*).getBytes("UTF-8"))
      assertEquals(rows(read(options, own)), rows(people))
      refused(NotAuthentic)(read(options, other).collect())
    }
  }

  // Sessions of one application share what they cache.

  private def session(options: Map[String, String], settings: (String, String)*): SparkSession = {
    val made = spark.newSession()
    options.foreach { case (name, value) => made.conf.set(s"spark.datasource.pme-parquet.$name", value) }
    settings.foreach { case (name, value) => made.conf.set(name, value) }
    made
  }

  private def of(session: SparkSession, path: String = target, hasSchema: Boolean = true): DataFrame = {
    val reader = session.read.format("pme-parquet")
    (if (hasSchema) reader.schema(people.schema) else reader).load(path)
  }

  private def isCached(frame: DataFrame) =
    frame.queryExecution.executedPlan.toString.contains("InMemoryTableScan")

  /** Caches all rows of the frame during the block. */
  private def filled[A](frame: DataFrame)(block: => A): A = {
    frame.cache()
    try {
      frame.count()
      assert(isCached(frame))
      block
    } finally frame.unpersist(blocking = true)
  }

  for (hasSchema <- Seq(true, false))
    test(s"data that one session caches does not answer one with other keys: hasSchema=$hasSchema") {
      writeShared()
      filled(of(session(all), hasSchema = hasSchema)) {
        refused(KeyNotFound, "'pii'", "ssn")(of(session(few), hasSchema = hasSchema).select("ssn").collect())
        // Another session with the same settings may have the data.
        assert(isCached(of(session(all), hasSchema = hasSchema)))
      }
    }

  test("rows that one session accepts are refused by the policy of another, and of the same one later") {
    people.write.parquet(target)
    val name = "spark.datasource.pme-parquet.plaintextFiles"
    val lax = session(all + ("plaintextFiles" -> "allow"))
    filled(of(lax)) {
      refused(PlaintextFile)(of(session(all)).collect())
      lax.conf.set(name, "error")
      refused(PlaintextFile)(of(lax).collect())
    }
    val changing = session(all)
    val planned = of(changing)
    changing.conf.set(name, "allow")
    filled(planned)(refused(PlaintextFile)(of(session(all)).collect()))
  }

  test("a table of the catalog is read again after its session has changed") {
    writeShared()
    val changing = session(all)
    changing.sql(
      s"CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` LOCATION '$target'"
    )
    filled(changing.table("t")) {
      few.foreach { case (name, value) => changing.conf.set(s"spark.datasource.pme-parquet.$name", value) }
      for (reader <- Seq(changing, session(few)))
        refused(KeyNotFound, "'pii'", "ssn")(reader.table("t").select("ssn").collect())
    }
  }

  test("frames of two sessions in one query are read each for itself") {
    writeShared()
    val (left, right) = (of(session(all)).groupBy("ssn").count(), of(session(few)).groupBy("ssn").count())
    refused(KeyNotFound, "'pii'")(left.join(right, "ssn").collect())
  }

  test("cached ORC does not answer a session with other keys") {
    people.write.format("pme-orc").options(all + ("columnKeys" -> "pii: ssn; pay: salary")).save(target)
    def orc(options: Map[String, String]) =
      session(options).read.format("pme-orc").schema(people.schema).load(target)
    filled(orc(all))(refused(KeyDenied, "pii", "ssn")(orc(few).select("ssn").collect()))
  }

  private val factory = "parquet.crypto.factory.class" -> "io.pmeparquet.parquet.PmeCryptoFactory"
  private def byFactory(options: Map[String, String]) =
    options.map { case (name, value) => s"pme-parquet.$name" -> value } + factory

  test("Parquet that the crypto factory opened does not answer a session without it") {
    writeShared()
    val full = session(Map.empty, byFactory(all).toSeq: _*)
    def parquet(of: SparkSession) = of.read.schema(people.schema).parquet(target)
    filled(parquet(full)) {
      assert(!isCached(parquet(spark.newSession())))
      assert(isCached(parquet(full)))
    }
  }

  for (
    by <- Seq("parquet", "pme-parquet");
    setting <- Seq("secret.of.mine", "spark.sql.secret.of.mine", "hive.secret.of.mine")
  )
    test(s"equal options that refer to a secret of one session are read each for itself: $by, $setting") {
      writeShared()
      // Spark knows no setting of this name.
      val lines = keyLines("mine", names: _*)
      val options = Map("kms" -> "static", "kms.static.keys" -> s"conf:$setting")
      def rowsOf(session: SparkSession) = session.read
        .format(by)
        .schema(people.schema)
        .options(if (by == "parquet") byFactory(options) else options)
        .load(target)
      filled(rowsOf(session(Map.empty, setting -> lines))) {
        refused(KmsUnavailable, setting)(rowsOf(spark.newSession()).select("ssn").collect())
        assert(isCached(rowsOf(session(Map.empty, setting -> lines))))
      }
    }

  test("a scan of Spark's V2 source is read again after its session has changed") {
    writeShared()
    def parquet = spark.read.schema(people.schema).parquet(target)
    set(byFactory(all) + ("spark.sql.sources.useV1SourceList" -> ""))
    filled(parquet) {
      assert(isCached(parquet))
      set(byFactory(few))
      refused(KeyNotFound, "'pii'")(parquet.select("ssn").collect())
      set(byFactory(all))
    }
  }

  test("settings of Spark SQL do not part sessions, and others do") {
    writeShared()
    filled(of(session(all), hasSchema = false)) {
      assert(isCached(of(session(all, "spark.sql.shuffle.partitions" -> "3"), hasSchema = false)))
      assert(!isCached(of(session(all, "any.other" -> "3"), hasSchema = false)))
    }
  }
}
