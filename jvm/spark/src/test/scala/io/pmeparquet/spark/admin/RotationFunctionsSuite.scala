package io.pmeparquet.spark.admin

import java.nio.file.Files

import org.apache.spark.sql.DataFrame

import io.pmeparquet.Condition.{BadOption, KeyNotFound, SecretInOption, UnknownOption}

/** Rotation and key usage as table functions: only a query that runs does anything, once and completely. */
class RotationFunctionsSuite extends WatchedTableSuite {
  private def literal(map: Map[String, String]): String =
    map.toSeq.map { case (name, value) => s"'$name', '$value'" }.mkString("map(", ", ", ")")

  /** A call for the table. Without names of master keys, a second rotation would wrap keys again. */
  private def call(function: String, arguments: (String, String)*): String =
    (s"'$target'" +: arguments.map { case (name, value) => s"$name => $value" })
      .mkString(s"$function(", ", ", ")")

  private lazy val options = watched
  private def again: String = call("pme_rotate", "options" -> literal(options))
  private def rotation(more: (String, String)*): String =
    call("pme_rotate", Seq("master_keys" -> literal(renewed), "options" -> literal(options)) ++ more: _*)

  private def statuses(frame: DataFrame): Seq[String] =
    frame.select("status").collect().map(_.getString(0)).toSeq
  private val rotated = Seq("rotated", "rotated")
  private val once = old.map(_ -> 1).toMap

  private def isDone(wrapped: Seq[String]): Unit = {
    assertEquals(left(wrapped), Nil)
    readWithout(old)
  }

  // RotationSuite has both.
  for (material <- if (isWhole) Seq("internal", "external") else Seq("external"))
    test(s"all keys get new master keys: $material") {
      written("keyMaterial" -> material)
      val (before, wrapped) = (pages(), WatchedKms.wrapped.toList)
      val found = spark.sql(s"SELECT * FROM ${rotation()}").collect()
      assertEquals(found.map(_.getAs[String]("status")).toSeq, rotated)
      assertEquals(found.map(_.getSeq[String](2)).toSeq.distinct, Seq(renewed.values.toSeq.sorted))
      val names = files().map(_.getFileName.toString)
      assertEquals(found.map(_.getAs[String]("file").split('/').last).toSeq.sorted, names.sorted)
      assertEquals(pages(), before)
      isDone(wrapped)
    }

  test("a dry run changes nothing") {
    written()
    untouched()(assertEquals(statuses(spark.sql(s"SELECT * FROM ${rotation("dry_run" -> "true")}")), rotated))
    assertEquals(WatchedKms.count("wrap"), Map.empty[String, Int])
  }

  test("keys and key material move, and an empty map of master keys changes no key") {
    written()
    val external = Seq("options" -> literal(options), "key_material" -> "'external'")
    val none = call("pme_rotate", ("master_keys" -> "map()") +: external: _*)
    assertEquals(statuses(spark.sql(s"SELECT * FROM $none")), rotated)
    assertEquals(WatchedKms.count("wrap"), Map.empty[String, Int])
    assert(files().forall(file => Files.exists(materialOf(file))))
    val elsewhere = Map("parquet.encryption.kms.instance.id" -> "elsewhere")
    val moved = call("pme_rotate", ("new_kms" -> literal(options ++ elsewhere)) +: external: _*)
    assertEquals(
      spark.sql(s"SELECT DISTINCT material FROM $moved").collect().map(_.getString(0)).toSeq,
      Seq("external")
    )
    readWithout(Nil, elsewhere.toSeq: _*)
  }

  test("a master key that no file uses is refused unless it is allowed") {
    written()
    val slip = "master_keys" -> literal(renewed + ("pi" -> "pii-3"))
    val refusing = call("pme_rotate", slip, "options" -> literal(options))
    untouched()(refused(BadOption, "'pi'", "allow_unused")(spark.sql(s"SELECT * FROM $refusing").collect()))
    val allowed = call("pme_rotate", slip, "options" -> literal(options), "allow_unused" -> "true")
    assertEquals(statuses(spark.sql(s"SELECT * FROM $allowed")), rotated)
  }

  private def secrets: Seq[String] = options.values.toSeq ++ renewed.values

  test("explaining changes nothing and shows no option") {
    written()
    for (mode <- Seq("", "FORMATTED", "COST", "EXTENDED")) {
      val text = untouched()(spark.sql(s"EXPLAIN $mode SELECT * FROM ${rotation()}").head().getString(0))
      assert(text.contains(s"pme_rotate $target"), text)
      // The first section of an extended plan is the statement as written.
      val shown = if (mode == "EXTENDED") text.split("== Analyzed Logical Plan ==")(1) else text
      secrets.foreach(secret => assert(!shown.contains(secret), s"$mode $secret: $shown"))
    }
    val execution = spark.sql(s"SELECT * FROM ${rotation()}").queryExecution
    for (
      json <- Seq(execution.analyzed.toJSON, execution.optimizedPlan.toJSON, execution.executedPlan.toJSON)
    )
      secrets.foreach(secret => assert(!json.contains(secret), secret))
    assertEquals(WatchedKms.calls.toList, Nil)
  }

  test("a view changes nothing until its rows are read") {
    written()
    val wrapped = WatchedKms.wrapped.toList
    untouched() {
      spark.sql(s"CREATE TEMPORARY VIEW rotation_report AS SELECT * FROM ${rotation()}")
      assertEquals(spark.table("rotation_report").columns.take(2).toSeq, Seq("file", "status"))
    }
    assertEquals(WatchedKms.calls.toList, Nil)
    assertEquals(statuses(spark.table("rotation_report")), rotated)
    assertEquals(statuses(spark.table("rotation_report")), Seq("unchanged", "unchanged"))
    assertEquals(left(wrapped), Nil)
  }

  for (after <- Seq("WHERE status = 'failed' LIMIT 1", "LIMIT 1", "WHERE file = 'none'", ""))
    test(s"all files are rotated whichever rows are selected: $after") {
      written()
      val wrapped = WatchedKms.wrapped.toList
      spark.sql(s"SELECT ${if (after.isEmpty) "count(*)" else "*"} FROM ${rotation()} $after").collect()
      isDone(wrapped)
    }

  // Each asks Spark for the function's rows in several places, or several times.
  private val twice = Seq[(String, DataFrame => Any)](
    "collected twice" -> (report => (report.collect(), report.collect())),
    "counted, then shown" -> (report => (report.count(), report.show())),
    "sorted by ranges" -> (_.orderBy("file").collect()),
    "joined with itself" -> (report => report.alias("a").join(report.alias("b"), "file").collect()),
    "united with itself" -> (report => report.union(report).repartition(report("status")).collect()),
    "cached" -> { report =>
      report.cache().count()
      report.collect()
      report.unpersist(blocking = true)
    }
  )

  for ((what, use) <- twice)
    test(s"a statement rotates once: $what") {
      written()
      use(spark.sql(s"SELECT * FROM $again"))
      assertEquals(WatchedKms.count("wrap"), once)
    }

  test("a report stored in a table, and one that a query uses twice, are of one rotation") {
    written()
    spark.sql(s"CREATE TABLE kept_report USING parquet LOCATION '$directory/kept' AS SELECT * FROM $again")
    assertEquals(statuses(spark.table("kept_report")), rotated)
    assertEquals(WatchedKms.count("wrap"), once)
    WatchedKms.calls.clear()
    val query = s"WITH report AS (SELECT * FROM $again) SELECT * FROM report UNION ALL SELECT * FROM report"
    assertEquals(spark.sql(query).collect().length, 4)
    assertEquals(WatchedKms.count("wrap"), once)
  }

  test("each statement rotates, and uses no cached result of another") {
    written()
    val first = spark.sql(s"SELECT * FROM $again").cache()
    first.collect()
    spark.sql(s"SELECT * FROM $again").collect()
    first.unpersist(blocking = true)
    assertEquals(WatchedKms.count("wrap"), old.map(_ -> 2).toMap)
  }

  test("files that fail are rows") {
    written()
    WatchedKms.lacks = Set("pii")
    val found = untouched()(
      spark.sql(s"SELECT condition, message FROM ${rotation()} WHERE status = 'failed'").collect()
    )
    assertEquals(found.map(_.getString(0)).toSeq, Seq.fill(2)(KeyNotFound.name))
    assert(found.forall(_.getString(1).contains("pii")))
  }

  test("a failed rotation fails the query, and the next try works") {
    written()
    val report = spark.sql(s"SELECT * FROM ${rotation()}")
    val table = directory.resolve("table")
    val moved = Files.move(table, directory.resolve("elsewhere"))
    val failed = intercept[Exception](report.collect())
    assert(failed.getMessage.contains("table"), failed.getMessage)
    Files.move(moved, table)
    // Spark remembers that a plan failed; a new plan is tried again.
    assertEquals(statuses(report), rotated)
  }

  test("arguments can be parameters of the query") {
    written()
    val query =
      s"SELECT master_keys FROM pme_rotate(:path, master_keys => map(:old, concat(:old, '-2')), options => ${literal(options)})"
    val found = spark.sql(query, Map[String, Any]("path" -> target, "old" -> "pii")).collect()
    assertEquals(found.map(_.getSeq[String](0)).toSeq.distinct, Seq(Seq("footer", "pay", "pii-2")))
  }

  test("wrong arguments are refused before the query runs") {
    val wrong = Seq(
      ("", BadOption, Seq("path", "missing")),
      ("''", BadOption, Seq("path", "missing")),
      ("'t', master_key => map()", UnknownOption, Seq("Did you mean 'master_keys'")),
      ("'t', kms => map('kms', 'vault')", UnknownOption, Seq("options")),
      ("'t', path => 't'", BadOption, Seq("path", "twice")),
      ("'t', map('a', 'b')", BadOption, Seq("argument 2", "no name")),
      ("1", BadOption, Seq("path", "INT", "a string")),
      ("'t', master_keys => map('a', 1)", BadOption, Seq("master_keys", "a map of strings")),
      ("'t', options => 'kms=vault'", BadOption, Seq("options", "a map of strings")),
      ("'t', dry_run => 'true'", BadOption, Seq("dry_run", "true or false")),
      ("'t', dry_run => CAST(NULL AS BOOLEAN)", BadOption, Seq("dry_run", "NULL")),
      ("'t', options => map('kms', NULL, 'a', 'b')", BadOption, Seq("options", "'kms'", "NULL")),
      ("'t', dry_run => rand() < 0.5", BadOption, Seq("dry_run", "not a constant")),
      ("current_user()", BadOption, Seq("path", "not a constant")),
      ("'t', key_material => 'beside'", BadOption, Seq("key_material", "internal or external")),
      ("'t', master_keys => map('a', 'b', 'b', 'c')", BadOption, Seq("master_keys", "'a'", "'b'")),
      ("'t', options => map('kms.vault.ulr', 'x')", UnknownOption, Seq("kms.vault.url")),
      ("'t', new_kms => map('kmss', 'x')", UnknownOption, Seq("'kms'")),
      (
        "'t', options => map('kms.keystore.password', 'changeit')",
        SecretInOption,
        Seq("kms.keystore.password")
      )
    )
    for ((arguments, condition, words) <- wrong)
      refused(condition, words: _*)(spark.sql(s"SELECT * FROM pme_rotate($arguments)"))
    refused(BadOption, "path", "not a constant") {
      spark.sql("SELECT * FROM VALUES ('t') AS tables(path), LATERAL pme_rotate(path)")
    }
    refused(UnknownOption, "pme_key_usage", "master_keys") {
      spark.sql("SELECT * FROM pme_key_usage('t', master_keys => map())")
    }
    refused(BadOption, "pme_verify", "files")(spark.sql("SELECT * FROM pme_verify('t', files => 'many')"))
  }

  test("key usage is the same as a function") {
    written()
    for (asked <- Seq(options, Map.empty[String, String])) {
      val called = spark.sql(s"SELECT * FROM ${call("pme_key_usage", "options" -> literal(asked))}")
      val expected = KeyUsage.of(spark, target, asked)
      assertEquals(called.schema, expected.schema)
      assertEquals(called.collect().toSeq, expected.collect().toSeq)
      assert(called.count() > 0)
    }
  }
}
