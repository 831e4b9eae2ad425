package io.pmeparquet.spark.rules

import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.JavaConverters._

import org.apache.spark.api.java.function.FilterFunction
import org.apache.spark.sql.{DataFrame, Dataset, Encoders, Row}
import org.apache.spark.sql.functions.{expr, max, upper}
import org.apache.spark.sql.streaming.Trigger

import io.pmeparquet.spark.{GuardedSuite, SparkSuite}
import io.pmeparquet.spark.keys.KeyGuard
import io.pmeparquet.Condition.{KeyDenied, Unsupported}

/**
 * `deniedColumns`: a condition on a column whose key the KMS refuses is refused when the query runs, unless
 * `deniedPredicates=null`. That holds for cached data and for streams, too.
 */
class DeniedConditionsSuite extends GuardedSuite {
  private val filterFirst = "io.pmeparquet.test.filterFirst"

  for (scan <- scans) {
    test(s"a condition on a refused column is refused: $scan") {
      for (
        condition <- Seq(
          "ssn = 'ssn-7'",
          "ssn IS NULL OR id = 3",
          "address.street IS NULL",
          "size(phones) = 1",
          "phones[0].number = '+7'",
          "tags['key'] = 'tag-7' OR salary > 40"
        )
      )
        refused(KeyDenied, "'pii'", "condition", "deniedPredicates=null") {
          seen("scan" -> scan).where(condition).collect()
        }
    }

    test(s"conditions on other columns are as ever: $scan") {
      for (condition <- Seq("id = 7", "salary IS NULL", "salary > 20 OR id < 4"))
        assertEquals(rows(seen("scan" -> scan).where(condition)), rows(masked.where(condition)))
    }

    test(s"choices are refused, and values are not: $scan") {
      val frame = seen("scan" -> scan)
      for (
        chosen <- Seq(
          "max_by(id, ssn)",
          "IF(ssn IS NULL, NULL, id)",
          "rank() OVER (ORDER BY ssn)",
          "hash(ssn)"
        )
      ) refused(KeyDenied, "'pii'", "condition")(frame.selectExpr(chosen).collect())
      val values = frame.where("id = 3").selectExpr("upper(ssn)", "max_by(ssn, id) OVER (PARTITION BY id)")
      assertEquals(rows(values), Seq("[null,null]"))
    }
  }

  private val conditions = Seq(
    "ssn = 'ssn-7'",
    "ssn IS NULL",
    "ssn IS NOT NULL",
    "NOT (ssn = 'ssn-7')",
    "ssn <=> NULL",
    "ssn <=> 'ssn-7'",
    "ssn IN ('ssn-7', 'ssn-8')",
    "ssn NOT IN ('ssn-7')",
    "coalesce(ssn, 'none') = 'none'",
    "ssn LIKE '%7' OR id = 3",
    "ssn IS NULL AND id > 30",
    "length(ssn) + id > 5",
    "address.street = 'street-7'",
    "address.street IS NULL",
    "address IS NULL",
    "size(phones) = 1",
    "tags['key'] = 'tag-7' OR salary > 40"
  )

  // In `make test`, each condition is in one of these tests.
  for (((scan, batches), number) <- Seq("v1" -> "true", "v1" -> "false", "v2" -> "true").zipWithIndex)
    test(s"with deniedPredicates=null, conditions see NULLs: $scan, vectorized $batches") {
      set(Map(vectorized -> batches))
      val frame = seen(lenient, "scan" -> scan)
      System.setProperty(filterFirst, "true")
      try {
        for ((condition, at) <- conditions.zipWithIndex if isWhole || at % 3 == number)
          assertEquals(rows(frame.where(condition)), rows(masked.where(condition)), condition)
        assertEquals(frame.where("ssn IS NULL").count(), 40L)
      } finally {
        System.clearProperty(filterFirst)
        ()
      }
    }

  test("rows are made and chosen by NULLs where conditions may see them") {
    val frame = seen(lenient).where("id = 3")
    assertEquals(rows(frame.selectExpr("explode(map_keys(tags))")), Nil)
    assertEquals(rows(frame.groupBy("ssn").count()), Seq("[null,1]"))
    assertEquals(rows(frame.selectExpr("CASE WHEN ssn = 'a' THEN 1 ELSE 2 END")), Seq("[2]"))
    val typed = frame.select("ssn").as[String](Encoders.STRING)
    assertEquals(
      typed.map((text: String) => s"of $text")(Encoders.STRING).collect().toSeq,
      Seq("of null")
    )
  }

  test("a join on another column carries the NULLs") {
    val frame = seen()
    val joined = frame.join(frame.selectExpr("id", "ssn AS again"), "id").select("id", "ssn", "again")
    assertEquals(rows(joined), rows(masked.selectExpr("id", "ssn", "ssn AS again")))
  }

  test("a join, a subquery, and what shows only some rows are refused when they run") {
    val frame = seen()
    frame.createOrReplaceTempView("seen")
    for (
      run <- Seq[() => Any](
        () => frame.join(frame.select("ssn", "salary"), Seq("ssn"), "left").collect(),
        () => frame.join(frame.select("ssn"), Seq("ssn"), "anti").collect(),
        () => frame.select("ssn").intersect(frame.select("ssn")).collect(),
        () => frame.limit(5).where("ssn = 'x'").collect(),
        () => frame.selectExpr("explode(phones) p").where("p.number = '+7'").collect(),
        () => frame.selectExpr("id", "rank() OVER (ORDER BY ssn) r").where("r < 3").collect(),
        () => frame.selectExpr("inline(filter(phones, p -> true))").collect(),
        () => spark.sql("SELECT id FROM seen WHERE 'x' = (SELECT max(ssn) FROM seen)").collect(),
        () => spark.sql("SELECT id FROM seen WHERE id IN (SELECT id FROM seen WHERE ssn = 'x')").collect(),
        () => spark.sql("SELECT ssn FROM seen GROUP BY ssn HAVING count(*) > 1").collect(),
        () => spark.sql("SELECT id FROM seen ORDER BY ssn LIMIT 1").collect(),
        () => frame.orderBy("ssn").show(1),
        () => frame.orderBy("ssn").tail(1),
        () => frame.select("id", "ssn").distinct().count(),
        () => frame.groupBy("salary").pivot("ssn", Seq[Any]("a")).count().collect()
      )
    ) refused(KeyDenied, "'pii'", "condition")(run())
  }

  test("typed functions that look at a refused column are refused when they run") {
    val isNull: FilterFunction[Row] = _.isNullAt(0)
    def of(column: String) = seen().selectExpr(column).as[String](Encoders.STRING)
    for (
      query <- Seq[Dataset[String] => Dataset[_]](
        _.toDF().filter(isNull),
        _.map("of " + _)(Encoders.STRING),
        _.flatMap(text => Option(text).toList)(Encoders.STRING),
        _.mapPartitions(rows => rows)(Encoders.STRING),
        _.groupByKey("of " + _)(Encoders.STRING).count()
      )
    ) {
      refused(KeyDenied, "'ssn'", "'pii'", "condition")(query(of("ssn")).collect())
      // The rest of a struct whose street is refused.
      query(of("address.city")).collect()
    }
  }

  test("another session's view is checked from its first statement on") {
    seen().createOrReplaceGlobalTempView("denied_view")
    try {
      val view = spark.newSession().table("global_temp.denied_view")
      refused(KeyDenied, "'pii'")(view.limit(5).where("ssn = 'x'").collect())
      assertEquals(rows(view.where("id = 3").select("ssn")), Seq("[null]"))
    } finally {
      spark.catalog.dropGlobalTempView("denied_view")
      ()
    }
  }

  // ---- cached data

  for (scan <- scans)
    test(s"cached data is checked like any other: $scan") {
      val frame = seen("scan" -> scan).select(expr("id"), expr("ssn"), upper(expr("ssn")).as("upper"))
      caching(frame) { cached =>
        refused(Unsupported, "'id'", "count()")(cached.where("id = 3").collect())
        assertEquals(cached.count(), 40L)
        assertEquals(rows(cached.where("id = 3")), Seq("[3,null,null]"))
        for (condition <- Seq("ssn IS NULL", "upper = 'X'"))
          refused(KeyDenied, "'ssn'", "'pii'")(cached.where(condition).collect())
      }
      caching(seen("scan" -> scan, lenient)) { cached =>
        assertEquals(cached.where("ssn IS NULL").count(), 40L)
      }
    }

  test("cached data is checked by what makes and chooses rows, too") {
    caching(seen().select("id", "ssn", "tags").where("id = 3").orderBy("ssn", "id")) { cached =>
      assertEquals(cached.count(), 1L)
      for (
        query <- Seq(
          cached.selectExpr("explode(map_keys(tags))"),
          cached.groupBy("ssn").count(),
          cached.select("id").limit(1)
        )
      ) refused(KeyDenied, "'pii'", "condition")(query.collect())
      assertEquals(rows(cached.groupBy("id").count()), Seq("[3,1]"))
    }
  }

  for (scan <- scans)
    test(s"lost blocks of cached data are not masked below a condition: $scan") {
      val guard = KeyGuard()
      val options = asks(guard) ++ Map("scan" -> scan, "parquet.encryption.cache.lifetime.seconds" -> "0")
      caching(reader(options).load(guarded).select("id", "ssn")) { cached =>
        assertEquals(cached.count(), 40L)
        guard.deny("pii")
        loseCachedBlocks()
        refused(KeyDenied, "'ssn'", "'pii'")(cached.where("ssn LIKE 'ssn-%'").collect())
      }
    }

  private val adaptive = Map(
    "spark.sql.adaptive.enabled" -> "true",
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning" -> "true"
  )
  private val fixed =
    Map("spark.sql.adaptive.enabled" -> "false", "spark.sql.autoBroadcastJoinThreshold" -> "-1")

  for (
    (settings, column, scan) <- Seq(
      (adaptive, "most", "v1"),
      (adaptive, "again", "v2"),
      (fixed, "most", "v2"),
      (fixed, "again", "v1")
    )
  )
    test(
      s"a shuffle that cached data uses again hides no condition: ${if (settings == fixed) "fixed"
        else "adaptive"}, $column, $scan"
    ) {
      set(settings)
      val frame = seen("scan" -> scan)
      val one = frame.groupBy("id").agg(max("ssn").as("most"))
      val other = frame.groupBy("id").agg(max("ssn").as("most")).withColumnRenamed("most", "again")
      caching(one.join(other, "id")) { cached =>
        assertEquals(cached.count(), 40L)
        refused(KeyDenied, "'ssn'", "'pii'")(cached.where(s"$column IS NULL").collect())
        assertEquals(cached.where("id = 3").count(), 1L)
      }
    }

  for ((name, settings) <- Seq("adaptive" -> adaptive, "fixed" -> fixed))
    test(s"a subquery in cached data hides no condition: $name") {
      set(settings)
      seen().createOrReplaceTempView("seen")
      caching(spark.sql("SELECT id, (SELECT max(ssn) FROM seen) AS most FROM seen")) { cached =>
        assertEquals(cached.count(), 40L)
        refused(KeyDenied, "'ssn'", "'pii'")(cached.where("most IS NULL").collect())
      }
    }

  private val recursive = Seq(
    "of what it begins with" ->
      ("WITH RECURSIVE r AS (SELECT id, ssn, 1 AS step FROM seen UNION ALL " +
        "SELECT id, ssn, step + 1 FROM r WHERE step < 3) SELECT * FROM r WHERE ssn = 'x'"),
    "of each step" ->
      ("WITH RECURSIVE r AS (SELECT id, ssn, 1 AS step FROM seen UNION ALL " +
        "SELECT id, ssn, step + 1 FROM r WHERE step < 3 AND ssn IS NULL) SELECT id FROM r"),
    "of what it goes on with" ->
      ("WITH RECURSIVE r AS (SELECT 3L AS id, 'x' AS ssn, 1 AS step UNION ALL " +
        "SELECT t.id, t.ssn, step + 1 FROM r JOIN seen t ON t.id = r.id + 1 WHERE step < 3) " +
        "SELECT * FROM r WHERE ssn = 'x'")
  )

  for ((name, sql) <- recursive)
    test(s"a condition in a recursive query is refused: $name".tag(SparkSuite.Newest)) {
      assume(spark.version.takeWhile(_ != '-') >= "4.1", "Spark has no recursive queries before 4.1")
      seen().createOrReplaceTempView("seen")
      refused(KeyDenied, "'ssn'", "'pii'")(spark.sql(sql).collect())
    }

  // ---- streams

  /** The rows of each batch of a stream over the table; each file of the table is a batch. */
  private def stream(query: DataFrame => DataFrame): Seq[Seq[Row]] = {
    val batches = new ConcurrentLinkedQueue[Seq[Row]]
    val note: (Dataset[Row], Long) => Unit = (batch, _) => {
      batches.add(batch.collect().toSeq)
      ()
    }
    val source = spark.readStream
      .format("pme-parquet")
      .options(denied("pii") + ("maxFilesPerTrigger" -> "1"))
      .schema("id bigint, ssn string")
      .load(guarded)
    val running = query(source).writeStream
      .foreachBatch(note)
      .option("checkpointLocation", s"$directory/checkpoint-${System.nanoTime}")
      .trigger(Trigger.AvailableNow())
      .start()
    try running.processAllAvailable()
    finally running.stop()
    batches.asScala.toSeq
  }

  test("a stream reads NULLs, logs once, and refuses a condition") {
    val logged = warnings {
      val found = stream(_.where("id >= 0"))
      assertEquals(found.map(_.count(_.isNullAt(1))), Seq(20, 20))
    }
    assertEquals(logged.size, 1, logged)
    refused(KeyDenied, "'pii'")(stream(_.where("ssn IS NULL")))
  }

  test("a stream is checked by the columns that it uses") {
    def distinct(key: String)(frame: DataFrame) =
      frame
        .where("id = 3")
        .selectExpr("*", "now() AS at")
        .withWatermark("at", "1 day")
        .dropDuplicates(Seq(key))
    assertEquals(stream(distinct("id")).map(_.size).sum, 1)
    refused(KeyDenied, "'pii'")(stream(distinct("ssn")))
  }
}
