package io.pmeparquet.spark.read

import java.nio.file.Files

import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.PairSuite

/** What Spark pushes into a Parquet scan: columns, nested fields, filters and aggregates, with the answers of the rows. */
class PushDownSuite extends PairSuite {
  private val aggregates = Map("spark.sql.parquet.aggregatePushdown" -> "true")

  private def assertHas(frame: DataFrame, text: String): Unit = {
    val found = plan(frame)
    assert(found.contains(text), found)
  }

  test("only selected columns and nested fields are read, and a count reads none") {
    same { source =>
      source.write(residents())
      source.read().select("address.street", "scores")
    }
    assertHas(ours.read().select("id", "ssn"), "ReadSchema: struct<id:bigint,ssn:string>")
    assertHas(ours.read().select("address.street"), "ReadSchema: struct<address:struct<street:string>>")
    assertHas(ours.read().groupBy().count(), "ReadSchema: struct<>")
    assertEquals(ours.read().count(), 20L)
  }

  test("filters are pushed down, unless push-down is off") {
    Seq(ours, theirs).foreach(_.write(residents()))
    val conditions = Seq(
      "id = 3" -> "EqualTo(id,3)",
      "id > 3 AND id <= 9" -> "GreaterThan(id,3)",
      "name IS NULL" -> "IsNull(name)",
      "name IN ('name-1', 'name-2', 'nobody')" -> "In(name",
      "name LIKE 'name-1%'" -> "StringStartsWith(name,name-1)",
      "name <=> NULL OR id = 5" -> "Or(",
      "NOT (ssn = 'ssn-1')" -> "Not(EqualTo(ssn,ssn-1))",
      "address.zip >= 18" -> "GreaterThanOrEqual(address.zip,18)",
      "salary < 4.5" -> "LessThan(salary,4.5"
    )
    val tables = Seq(ours, theirs).map(source => source -> source.read()).toMap
    for ((condition, pushed) <- conditions) {
      val asked = tables.map { case (source, table) => source -> table.where(condition) }
      assert(same(asked).nonEmpty)
      asked.values.foreach(assertHas(_, pushed))
    }
    set(Map("spark.sql.parquet.filterPushdown" -> "false"))
    assertEquals(same(_.read().where("id = 3")).size, 1)
    assertEquals(same(_.read().orderBy("salary").limit(3)).size, 3)
  }

  test("aggregates are pushed down, with V2 sources and with no other setting, and by partition") {
    Seq(ours, theirs).foreach(source => source.writer(residents()).partitionBy("country").save(source.path))
    set(aggregates)
    def totals(source: Source) =
      source.read().selectExpr("count(*) AS n", "count(name) AS names", "min(id) AS low", "max(id) AS high")
    assertHas(totals(ours), "PushedAggregation: [COUNT(*), COUNT(name), MIN(id), MAX(id)]")
    assertEquals(rows(totals(ours)), Seq("[20,17,0,19]"))
    assertHas(ours.read().groupBy("country").max("id"), "PushedAggregation: [MAX(id)]")
    assertEquals(same(_.read().groupBy("country").max("id")).size, 3)
    set(Map("spark.sql.sources.useV1SourceList" -> ""))
    assertEquals(same(totals).size, 1)
    for (source <- Seq(ours, theirs))
      assertHas(totals(source), "PushedAggregation: [COUNT(*), COUNT(name), MIN(id), MAX(id)]")
  }

  private def answers(schema: String, scan: String, asked: String*): Seq[String] = {
    val frame = ours.reader("scan" -> scan).schema(schema).load(ours.path).selectExpr(asked: _*)
    assertHas(frame, "PushedAggregation: [")
    assert(!plan(frame).contains("PushedAggregation: []"))
    rows(frame)
  }

  for (scan <- Seq("auto", "v2")) {
    test(s"no files are no rows: $scan") {
      set(aggregates)
      ours.write(spark.range(3).toDF().coalesce(1))
      files(ours.path).foreach(Files.delete(_))
      assertEquals(answers("id BIGINT", scan, "count(*)", "count(id)", "min(id)"), Seq("[0,0,null]"))
    }

    test(s"a footer without statistics is not asked: $scan") {
      set(aggregates)
      ours.write(spark.range(0, 4, 1, 1).selectExpr("id", "CAST(NULL AS INT) AS empty"))
      ours.write(
        spark.range(4, 9, 1, 1).selectExpr("id", "CAST(id AS INT) AS empty"),
        "parquet.column.statistics.enabled" -> "false"
      )
      val asked = Seq("count(*)", "count(empty)", "min(empty)", "max(empty)", "max(id)")
      assertEquals(answers("id BIGINT, empty INT", scan, asked: _*), Seq("[9,5,4,8,8]"))
    }
  }

  test("no files have no groups, and chosen partitions may have no files") {
    set(aggregates)
    ours.writer(spark.range(9).selectExpr("id", "id % 3 AS day")).partitionBy("day").save(ours.path)
    val none = ours.read("scan" -> "v2").where("day = 7")
    assertEquals(rows(none.groupBy("day").count()), Nil)
    assertEquals(rows(none.selectExpr("count(*)", "max(id)")), Seq("[0,null]"))
  }

  test("NaN is the largest number") {
    set(aggregates)
    ours.write(spark.sql("SELECT explode(array(1.0D, double('NaN'))) AS x").coalesce(1))
    ours.write(spark.sql("SELECT 3.0D AS x").coalesce(1))
    assertEquals(rows(ours.read().selectExpr("min(x)", "max(x)", "count(x)")), Seq("[1.0,NaN,3]"))
  }

  test("columns of footers are found by name") {
    set(aggregates)
    ours.write(spark.sql("SELECT named_struct('a', 1, 'b', 2) AS s, 10 AS x, 20 AS y").coalesce(1))
    ours.write(spark.sql("SELECT 40 AS y, 30 AS x").coalesce(1))
    ours.write(spark.sql("SELECT 50 AS y").coalesce(1))
    val asked = Seq("max(x)", "min(y)", "max(y)", "count(x)", "count(s)", "count(*)")
    assertEquals(
      answers("s STRUCT<a: INT, b: INT>, x INT, y INT", "auto", asked: _*),
      Seq("[30,20,50,2,1,3]")
    )
  }

  test("each type of column answers as its rows do") {
    val columns = Seq(
      "a" -> "CAST(id AS TINYINT)",
      "b" -> "CAST(id AS SMALLINT)",
      "c" -> "CAST(id AS INT)",
      "d" -> "id",
      "e" -> "id > 5",
      "f" -> "date_add(DATE '1970-01-01', CAST(id AS INT) - 1)",
      "g" -> "date_add(DATE '1000-01-01', CAST(id AS INT))"
    )
    // Spark 3.5 asks what old dates mean.
    set(Map("spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED"))
    val values = columns.map { case (name, value) => s"$value AS $name" }
    ours.write(spark.range(1, 20).selectExpr(values: _*).repartition(3))
    val asked = for ((name, _) <- columns; function <- Seq("min", "max", "count")) yield s"$function($name)"
    val expected = rows(ours.read().selectExpr(asked: _*))
    set(aggregates)
    val pushed = ours.read().selectExpr(asked: _*)
    assertHas(pushed, "PushedAggregation: [MIN(a)")
    assertEquals(rows(pushed), expected)
  }

  test("a null partition is counted as its rows are") {
    set(aggregates)
    ours
      .writer(spark.range(6).selectExpr("id", "IF(id < 2, NULL, id % 2) AS day"))
      .partitionBy("day")
      .save(ours.path)
    val schema = new StructType().add("id", LongType).add("day", LongType)
    val read = ours.reader("scan" -> "v2").schema(schema).load(ours.path)
    assertEquals(rows(read.selectExpr("count(day)", "count(*)")), Seq("[4,6]"))
    assertEquals(rows(read.groupBy("day").max("id")), Seq("[0,4]", "[1,5]", "[null,1]"))
  }
}
