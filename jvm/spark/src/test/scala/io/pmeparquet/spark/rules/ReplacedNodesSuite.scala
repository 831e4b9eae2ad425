package io.pmeparquet.spark.rules

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.Files

import org.apache.spark.sql.{DataFrame, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.streaming.Trigger

import io.pmeparquet.spark.{EachSpark, SparkSuite}
import io.pmeparquet.Condition.Unsupported

/** Sessions with a plugin that replaces nodes of physical plans: what is ours is encrypted and checked, or refused. */
class ReplacedNodesSuite extends SparkSuite with EachSpark {
  private val factory = Map("parquet.crypto.factory.class" -> "io.pmeparquet.parquet.PmeCryptoFactory")

  private final class Kind(
      val format: String,
      val options: Map[String, String],
      val guardsReads: Boolean = true
  )

  private val kinds = Map(
    "v1" -> new Kind("pme-parquet", keys + ("scan" -> "v1")),
    "v2" -> new Kind("pme-parquet", keys + ("scan" -> "v2")),
    "orc" -> new Kind("pme-orc", kms + ("columnKeys" -> "pii: ssn")),
    "factory" -> new Kind(
      "parquet",
      factory ++ keys.map { case (name, value) => s"pme-parquet.$name" -> value },
      guardsReads = false
    )
  )
  private val canary = "canary-7"

  private var accelerated: SparkSession = _
  override protected def spark: SparkSession = Option(accelerated).getOrElse(super.spark)

  /** Runs the block in a session with the plugin. */
  private def withPlugin[A](replaces: String, inject: SparkSessionExtensions => Unit = Accelerator.columnar)(
      block: => A
  ): A = {
    SparkSession.clearActiveSession()
    SparkSession.clearDefaultSession()
    accelerated = SparkSession.builder().withExtensions(inject).getOrCreate()
    SparkSession.setDefaultSession(SparkSuite.shared)
    set(Map(Accelerator.Replaces -> replaces))
    try block
    finally {
      accelerated = null
      SparkSession.setActiveSession(spark)
    }
  }

  /** With a shuffle, for AQE to plan. */
  private def saved(kind: Kind, mode: String = "errorifexists"): Unit =
    people
      .repartition(2)
      .write
      .format(kind.format)
      .options(kind.options - "scan")
      .option("compression", "none")
      .mode(mode)
      .save(target)

  private def loaded(kind: Kind): DataFrame =
    spark.read.format(kind.format).options(kind.options).schema(people.schema).load(target)

  private def isReadable: Boolean =
    allFiles().exists(file => new String(Files.readAllBytes(file), ISO_8859_1).contains(canary))

  private def plan(frame: DataFrame) = frame.queryExecution.executedPlan.toString

  for {
    (name, kind) <- kinds
    adaptive <- Seq("true", "false")
    planned <- Seq("true", "false")
    (replaces, node) <- Seq("commands" -> "NativeCommand", "files" -> "NativeFiles")
  } {
    val settings = s"$name, AQE $adaptive, planned writes $planned, $replaces replaced"
    test(s"a write that a plugin takes over is refused before it writes: $settings") {
      withPlugin(replaces) {
        set(
          Map("spark.sql.adaptive.enabled" -> adaptive, "spark.sql.optimizer.plannedWrite.enabled" -> planned)
        )
        if (replaces == "files" && planned == "false") {
          // Without planned writes there is no such node: Spark's own code writes.
          saved(kind)
          assertEquals(rows(loaded(kind)), rows(people))
        } else {
          refused(Unsupported, node, target)(saved(kind))
          assertEquals(files(), Nil)
        }
        assert(!isReadable)
      }
    }
  }

  for {
    (name, kind) <- kinds if kind.guardsReads
    adaptive <- Seq("true", "false")
  } test(s"a scan that a plugin takes over is refused, wherever it is: $name, AQE $adaptive") {
    saved(kind)
    withPlugin("scans") {
      set(Map("spark.sql.adaptive.enabled" -> adaptive))
      for (
        query <- Seq[DataFrame => DataFrame](
          identity,
          _.where("id > 3 AND ssn > 'a'").select("ssn"),
          _.groupBy("ssn").count(),
          frame => frame.join(frame.select("id").distinct(), "id"),
          frame => { frame.createOrReplaceTempView("t"); spark.sql("SELECT (SELECT max(ssn) FROM t)") },
          frame => frame.cache(),
          frame => spark.range(3).toDF().union(frame.selectExpr("id"))
        )
      ) refused(Unsupported, "NativeScan")(query(loaded(kind)).collect())
      spark.catalog.clearCache()
      refused(Unsupported, "NativeScan")(loaded(kind).repartition(3).write.parquet(s"$target-copy"))
    }
  }

  for (
    (where, inject) <- Seq[(String, SparkSessionExtensions => Unit)](
      "of AQE" -> Accelerator.adaptive,
      "of AQE's stages" -> Accelerator.ofStages
    )
  )
    test(s"rules $where are rules for physical plans, too") {
      saved(kinds("v1"))
      withPlugin("commands,scans", inject) {
        val frame = people.repartition(2)
        if (where == "of AQE") refused(Unsupported, "NativeCommand")(write(frame, keys, s"$target-other"))
        refused(Unsupported, "NativeScan")(loaded(kinds("v1")).groupBy("ssn").count().collect())
      }
    }

  test("a plugin that replaces what is not ours writes Spark's own format, and reads it") {
    for (replaces <- Seq("commands", "files")) withPlugin(replaces) {
      people.write.option("compression", "none").mode("overwrite").parquet(target)
      assert(isReadable)
    }
    withPlugin("scans") {
      assertEquals(
        spark.read.schema(people.schema).parquet(target).select("ssn").collect().map(_.getString(0)).toSeq,
        Seq("unchecked")
      )
    }
  }

  test("every statement that writes is refused, and an overwrite leaves the old table") {
    saved(kinds("v1"))
    val old = rows(loaded(kinds("v1")))
    val clause = keys.map { case (name, value) => s"'$name' '$value'" }.mkString("OPTIONS (", ", ", ")")
    withPlugin("commands") {
      setOptions(kms)
      people.createOrReplaceTempView("people")
      untouched() {
        refused(Unsupported, "NativeCommand")(saved(kinds("v1"), "overwrite"))
        refused(Unsupported, "NativeCommand")(saved(kinds("v1"), "append"))
      }
      spark.sql(
        s"CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING pme_parquet $clause LOCATION '$target-t'"
      )
      for (
        statement <- Seq(
          "INSERT INTO t SELECT * FROM people",
          "INSERT OVERWRITE t SELECT * FROM people",
          "INSERT INTO t VALUES ('canary-7', 1, 1)",
          s"CREATE TABLE new USING pme_parquet $clause LOCATION '$target-new' AS SELECT * FROM people",
          s"INSERT OVERWRITE DIRECTORY '$target-d' USING pme_parquet $clause SELECT * FROM people"
        )
      ) refused(Unsupported, "NativeCommand")(spark.sql(statement))
      refused(Unsupported, "NativeCommand") {
        people.write.format("pme-parquet").options(keys).option("path", s"$target-s").saveAsTable("saved")
      }
    }
    assertEquals(rows(loaded(kinds("v1"))), old)
  }

  test("an overwrite whose input a plugin reads leaves the old table") {
    saved(kinds("v1"))
    write(people, keys, s"$target-other")
    withPlugin("scans") {
      untouched() {
        refused(Unsupported, "NativeScan") {
          val other = reader(keys).load(s"$target-other")
          other.write.format("pme-parquet").options(keys).mode("overwrite").save(target)
        }
      }
    }
  }

  for ((name, kind) <- kinds)
    test(s"a strategy of others does not plan what is ours: $name") {
      // Whenever it was added.
      spark.experimental.extraStrategies = Accelerator.Planning +: spark.experimental.extraStrategies
      saved(kind)
      assert(!isReadable)
      if (kind.guardsReads) assertEquals(rows(loaded(kind)), rows(people))
      saved(new Kind("parquet", Map.empty), "overwrite")
      assert(isReadable)
    }

  test("queries and writes with a plugin that leaves our nodes alone return the same") {
    for ((_, kind) <- kinds) {
      withPlugin("aggregates") {
        saved(kind, "overwrite")
      }
      assert(!isReadable)
      assertEquals(rows(loaded(kind)), rows(people))
    }
  }

  for ((name, kind) <- kinds if kind.guardsReads; adaptive <- Seq("true", "false"))
    test(s"the guard changes no result and no plan around it: $name, AQE $adaptive") {
      saved(kind)
      val queries = Seq[DataFrame => DataFrame](
        identity,
        _.where("id % 3 = 0").select("ssn", "salary"),
        _.groupBy("id").sum("salary"),
        frame => frame.join(frame.withColumnRenamed("ssn", "other"), "id").orderBy("id").limit(7),
        frame => {
          val sums = frame.groupBy("id").count(); sums.join(sums.withColumnRenamed("count", "n"), "id")
        },
        frame => frame.cache().where("id > 9"),
        frame => frame.selectExpr("count(*)", "max(ssn)")
      )
      def all = {
        set(Map("spark.sql.adaptive.enabled" -> adaptive))
        val found = queries.map { query =>
          val frame = query(loaded(kind))
          val result = rows(frame)
          val text = plan(frame)
          (
            result,
            Seq("ReusedExchange", "ColumnarToRow", "BroadcastHashJoin", "InMemoryTableScan")
              .map(part => part -> part.r.findAllIn(text).size),
            text
          )
        }
        spark.catalog.clearCache()
        found
      }
      val without = all
      assert(!without.exists(_._3.contains("Unreplaced")))
      val within = withPlugin("aggregates")(all)
      assert(within.forall(_._3.contains("Unreplaced")), within.map(_._3))
      assert(within.exists(_._3.contains("NativeAggregate")))
      assertEquals(within.map(_._1), without.map(_._1))
      assertEquals(within.map(_._2), without.map(_._2))
    }

  for (adaptive <- Seq("true", "false"))
    test(s"partitions are pruned at run time below the guard: AQE $adaptive") {
      write(people.selectExpr("*", "id % 4 AS part"), keys, s"$target-flat")
      def flat = reader(keys).load(s"$target-flat")
      flat.write.format("pme-parquet").options(keys).partitionBy("part").save(target)
      spark.range(4).selectExpr("id", "id * 10 AS n").write.parquet(s"$target-small")
      def files = {
        set(Map("spark.sql.adaptive.enabled" -> adaptive))
        val small = spark.read.parquet(s"$target-small").where("n = 20")
        val frame = reader(keys).load(target).join(small, col("part") === small("id"))
        frame.collect()
        val scans = nodes(frame.queryExecution.executedPlan).collect { case scan: FileSourceScanExec => scan }
        scans
          .filter(_.relation.location.rootPaths.exists(_.toString.endsWith("table")))
          .map(_.metrics("numFiles").value)
      }
      assertEquals(files, Seq(1L))
      assertEquals(withPlugin("aggregates")(files), Seq(1L))
    }

  private def nodes(plan: SparkPlan): Seq[SparkPlan] = plan.collect { case node => node }.flatMap {
    case adaptive: AdaptiveSparkPlanExec => nodes(adaptive.executedPlan)
    case stage: QueryStageExec => nodes(stage.plan)
    case node => Seq(node)
  }

  test("a stream's scans are guarded, and Spark's own code writes its files") {
    saved(kinds("v1"))
    def stream(place: String) = spark.readStream
      .format("pme-parquet")
      .options(keys)
      .schema(people.schema)
      .load(target)
      .writeStream
      .format("pme-parquet")
      .options(keys)
      .option("checkpointLocation", s"$target-$place-check")
      .trigger(Trigger.AvailableNow())
      .start(s"$target-$place")
      .awaitTermination()
    withPlugin("scans") {
      refused(Unsupported, "NativeScan")(stream("refused"))
    }
    withPlugin("commands") {
      stream("written")
      assertEquals(rows(reader(keys).load(s"$target-written")), rows(people))
    }
    assert(
      !files(s"$target-written").exists(file =>
        new String(Files.readAllBytes(file), ISO_8859_1).contains(canary)
      )
    )
  }
}
