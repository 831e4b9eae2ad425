package io.pmeparquet.spark.rules

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.Files

import org.apache.spark.sql.{DataFrame, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.streaming.Trigger

import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition.Unsupported

/** Sessions with a plugin that replaces nodes of physical plans: what is ours is encrypted and checked, or refused. */
class ReplacedNodesSuite extends SparkSuite {
  private val factory = Map("parquet.crypto.factory.class" -> "io.pmeparquet.parquet.PmeCryptoFactory")

  private final class Kind(
      val format: String,
      val options: Map[String, String],
      val guardsReads: Boolean = true
  )

  private val kinds = Seq(
    "v1" -> new Kind("pme-parquet", keys + ("scan" -> "v1")),
    "v2" -> new Kind("pme-parquet", keys + ("scan" -> "v2")),
    "orc" -> new Kind("pme-orc", kms + ("columnKeys" -> "pii: ssn")),
    "factory" -> new Kind(
      "parquet",
      factory ++ keys.map { case (name, value) => s"pme-parquet.$name" -> value },
      guardsReads = false
    )
  )
  private val v1 = kinds.head._2
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

  private def isReadable: Boolean = isReadable(target)

  private def isReadable(path: String): Boolean =
    allFiles(path).exists(file => new String(Files.readAllBytes(file), ISO_8859_1).contains(canary))

  private def plan(frame: DataFrame) = frame.queryExecution.executedPlan.toString

  private val choices = Seq("true", "false").zipWithIndex

  // In `make test` each pair of values occurs.
  for {
    ((name, kind), at) <- kinds.zipWithIndex
    (adaptive, first) <- choices
    (planned, second) <- choices
    ((replaces, node), which) <- Seq("commands" -> "NativeCommand", "files" -> "NativeFiles").zipWithIndex
    if isWhole || (first == (at + which) % 2 && second == (at / 2 + which) % 2)
  } {
    val settings = s"$name, AQE $adaptive, planned writes $planned, $replaces replaced"
    test(s"a write that a plugin takes over is refused before it writes: $settings") {
      withPlugin(replaces) {
        set(
          Map("spark.sql.adaptive.enabled" -> adaptive, "spark.sql.optimizer.plannedWrite.enabled" -> planned)
        )
        refused(Unsupported, node, target)(saved(kind))
        assertEquals(files(), Nil)
        assert(!isReadable)
      }
    }
  }

  /** In `make test`, each for each kind and with each setting of AQE, and not for both at once. */
  private def some[A](all: Seq[A], at: Int): Seq[A] =
    all.zipWithIndex.collect { case (one, number) if isWhole || number % 2 == at % 2 => one }

  for {
    ((name, kind), at) <- kinds.zipWithIndex if kind.guardsReads
    (adaptive, second) <- choices
  } test(s"a scan that a plugin takes over is refused, wherever it is: $name, AQE $adaptive") {
    saved(kind)
    withPlugin("scans") {
      set(Map("spark.sql.adaptive.enabled" -> adaptive))
      val queries = Seq[DataFrame => DataFrame](
        identity,
        _.where("id > 3 AND ssn > 'a'").select("ssn"),
        frame => frame.join(frame.select("id").distinct(), "id"),
        frame => { frame.createOrReplaceTempView("t"); spark.sql("SELECT (SELECT max(ssn) FROM t)") },
        frame => frame.cache(),
        frame => spark.range(3).toDF().union(frame.selectExpr("id"))
      )
      for (query <- some(queries, at + second))
        refused(Unsupported, "NativeScan")(query(loaded(kind)).collect())
      spark.catalog.clearCache()
      refused(Unsupported, "NativeScan")(loaded(kind).repartition(3).write.parquet(s"$target-copy"))
    }
  }

  for ((name, kind) <- kinds if kind.guardsReads)
    test(s"Spark's own node for scans is refused with another format: $name") {
      saved(kind)
      withPlugin("formats") {
        refused(Unsupported, if (name == "v2") "PlainScan" else "ParquetFileFormat")(loaded(kind).collect())
      }
    }

  test("rows of a scan are those of projections, however they are asked for") {
    saved(v1)
    val (_, v2) = kinds(1)
    val scan = nodes(loaded(v2).queryExecution.executedPlan).collectFirst { case scan: BatchScanExec => scan }
    val guarded = UnreplacedExec.of(Accelerator.plain(scan.get))
    for (
      found <- Seq[SparkPlan => Seq[Any]](
        _.executeCollect().toSeq,
        _.executeTake(1).toSeq,
        _.executeTail(1).toSeq,
        _.executeToIterator().toSeq
      )
    ) assertEquals(found(guarded).size, 1)
  }

  test("a Spark that does not say its rules has some") {
    final class Said(val rules: Any)
    assert(PhysicalRules.ofAdaptive(new Said("of another kind")))
    assert(PhysicalRules.ofAdaptive(new Said(Seq(Accelerator))))
    assert(!PhysicalRules.ofAdaptive(new Said(Nil)))
    assert(PhysicalRules.orUnsaid(throw new NoSuchMethodError))
    assert(PhysicalRules.orUnsaid(throw new NoSuchFieldException))
    assert(!PhysicalRules.orUnsaid(false))
  }

  for (
    (where, inject) <- Seq[(String, SparkSessionExtensions => Unit)](
      "of AQE" -> Accelerator.adaptive,
      "of AQE's stages" -> Accelerator.ofStages
    )
  )
    test(s"rules $where are rules for physical plans, too") {
      saved(v1)
      withPlugin("commands,scans", inject) {
        val frame = people.repartition(2)
        if (where == "of AQE") refused(Unsupported, "NativeCommand")(write(frame, keys, s"$target-other"))
        refused(Unsupported, "NativeScan")(loaded(v1).groupBy("ssn").count().collect())
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
    saved(v1)
    val old = rows(loaded(v1))
    val clause = keys.map { case (name, value) => s"'$name' '$value'" }.mkString("OPTIONS (", ", ", ")")
    withPlugin("commands") {
      setOptions(kms)
      people.createOrReplaceTempView("people")
      untouched() {
        refused(Unsupported, "NativeCommand")(saved(v1, "overwrite"))
        refused(Unsupported, "NativeCommand")(saved(v1, "append"))
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
    assertEquals(rows(loaded(v1)), old)
  }

  test("a statement that a plugin takes over whole is refused before it writes") {
    val clause = keys.map { case (name, value) => s"'$name' '$value'" }.mkString("OPTIONS (", ", ", ")")
    withPlugin("statements") {
      people.createOrReplaceTempView("people")
      def create(format: String, name: String) =
        spark.sql(s"CREATE TABLE $name USING $format LOCATION '$target-$name' AS SELECT * FROM people")
      create("parquet", "plain")
      assert(isReadable(s"$target-plain"))
      def refusedHere(statement: => Any) = {
        refused(Unsupported, "NativeStatement")(statement)
        assert(!isReadable(s"$target-ours"))
      }
      refusedHere(create(s"pme_parquet $clause", "ours"))
      refusedHere {
        spark.sql(s"INSERT OVERWRITE DIRECTORY '$target-ours' USING pme_parquet $clause SELECT * FROM people")
      }
      refusedHere {
        people.write.format("pme-parquet").options(keys).option("path", s"$target-ours").saveAsTable("ours")
      }
      set(kinds.last._2.options)
      refusedHere(create("parquet", "ours"))
      refusedHere(spark.sql(s"INSERT OVERWRITE DIRECTORY '$target-ours' USING parquet SELECT * FROM people"))
    }
  }

  for {
    ((what, input), at) <- Seq[(String, DataFrame => DataFrame)](
      "the input" -> identity,
      "a subquery" -> { other =>
        other.createOrReplaceTempView("other")
        people.where("ssn < (SELECT max(ssn) FROM other)")
      },
      "a cache that is not filled" -> (_.repartition(2).cache())
    ).zipWithIndex
    (adaptive, second) <- choices if isWhole || at != 0 || second == 0
  } test(s"an overwrite whose input a plugin reads leaves the old table: $what, AQE $adaptive") {
    saved(v1)
    write(people, keys, s"$target-other")
    withPlugin("scans") {
      set(Map("spark.sql.adaptive.enabled" -> adaptive))
      untouched() {
        refused(Unsupported, "NativeScan") {
          input(reader(keys).load(s"$target-other")).write
            .format("pme-parquet")
            .options(keys)
            .mode("overwrite")
            .save(target)
        }
      }
      spark.catalog.clearCache()
    }
  }

  test("AQE coalesces shuffles below the guard") {
    people.write.parquet(s"$target-plain")
    def written(place: String) = {
      set(Map("spark.sql.adaptive.enabled" -> "true", "spark.sql.shuffle.partitions" -> "20"))
      val plain = spark.read.parquet(s"$target-plain")
      write(plain.repartition(col("id")).union(plain), keys, s"$target-$place")
      files(s"$target-$place").size
    }
    val without = written("without")
    assertEquals(withPlugin("")(written("within")), without)
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

  for (
    ((name, kind), at) <- kinds.zipWithIndex if kind.guardsReads; (adaptive, second) <- choices
    if isWhole || (at + second) % 2 == 0
  )
    test(s"the guard changes no result and no plan around it: $name, AQE $adaptive") {
      saved(kind)
      val queries = Seq[DataFrame => DataFrame](
        frame => {
          val sums = frame.groupBy("id").count(); sums.join(sums.withColumnRenamed("count", "n"), "id")
        },
        frame => frame.join(frame.withColumnRenamed("ssn", "other"), "id").orderBy("id").limit(7),
        _.where("id % 3 = 0").select("ssn", "salary"),
        frame => frame.selectExpr("count(*)", "max(salary)"),
        frame => frame.cache().where("id > 9")
      )
      def all = {
        set(Map("spark.sql.adaptive.enabled" -> adaptive))
        val found = some(queries, at + second).map { query =>
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

  test("a stream's scan that a plugin takes over is refused") {
    saved(v1)
    def stream(): Unit = spark.readStream
      .format("pme-parquet")
      .options(keys)
      .schema(people.schema)
      .load(target)
      .writeStream
      .format("pme-parquet")
      .options(keys)
      .option("checkpointLocation", s"$target-check")
      .trigger(Trigger.AvailableNow())
      .start(s"$target-stream")
      .awaitTermination()
    withPlugin("scans")(refused(Unsupported, "NativeScan")(stream()))
  }
}
