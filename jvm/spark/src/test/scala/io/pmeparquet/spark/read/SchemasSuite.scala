package io.pmeparquet.spark.read

import org.apache.spark.sql.functions.{col, lit}
import org.apache.spark.sql.types.{Metadata, MetadataBuilder}
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{PairSuite, SparkSuite}
import io.pmeparquet.spark.admin.seal.{IndexRequests, Sealing}
import io.pmeparquet.spark.admin.QueryStatistics

/** Where a schema comes from, how names are matched, and frames without rows or columns, or with strange names. */
class SchemasSuite extends PairSuite {

  // As `pme.configure` sets it.
  private val allowsDefaults = "spark.sql.defaultColumn.allowedProviders" -> "parquet,pme-parquet"

  private def written(frame: DataFrame)(source: Source): DataFrame = {
    source.write(frame)
    source.read()
  }

  private def as(frame: DataFrame, name: String, metadata: Metadata): DataFrame =
    frame.withColumn(name, col(name).as(name, metadata))

  test("an inferred schema has what Spark writes down of columns") {
    val metadata =
      new MetadataBuilder().putString("comment", "as in the passport").putLong("level", 3).build()
    val frame = as(residents(), "name", metadata)
    assertEquals(same(written(frame)).size, 20)
    assertEquals(ours.read().schema("name").metadata, metadata)
  }

  private def twoSchemas(source: Source): Unit = {
    source.write(spark.range(3).selectExpr("id", "CAST(id AS STRING) AS a", "named_struct('x', id) AS s"))
    source.write(spark.range(3).selectExpr("id", "id * 2.5 AS b", "named_struct('x', id, 'y', 'q') AS s"))
  }

  test("schemas are merged by an option, by a setting of the session, and across partitions") {
    Seq(ours, theirs).foreach(twoSchemas)
    def merged(more: (String, String)*) = same(_.read(more: _*).select("id", "a", "b", "s")).size
    assertEquals(merged("mergeSchema" -> "true"), 6)
    set(Map("spark.sql.parquet.mergeSchema" -> "true"))
    assertEquals(merged(), 6)
    for (source <- Seq(ours, theirs)) {
      source.writer(spark.range(2).selectExpr("id")).save(s"${source.path}-days/p=1")
      source.writer(spark.range(2).selectExpr("id", "'v' AS v")).save(s"${source.path}-days/p=2")
    }
    set(Map("spark.sql.parquet.mergeSchema" -> "false"))
    assertEquals(same(source => source.reader("mergeSchema" -> "true").load(s"${source.path}-days")).size, 4)
  }

  test("a schema may add and drop columns, and its names are matched as the session says") {
    Seq(ours, theirs).foreach(_.write(residents()))
    def read(schema: String)(source: Source) = source.reader().schema(schema).load(source.path)
    assertEquals(same(read("missing INT, id BIGINT, address STRUCT<street: STRING, none: INT>")).size, 20)
    for (sensitive <- Seq("true", "false")) {
      set(Map("spark.sql.caseSensitive" -> sensitive))
      val found = same(read("ID BIGINT, Name STRING"))
      assertEquals(found.contains("[null,null]"), sensitive == "true")
    }
  }

  test("columns that differ only in case are two columns") {
    set(Map("spark.sql.caseSensitive" -> "true"))
    val frame = spark.range(4).selectExpr("id AS a", "id * 10 AS A")
    assertEquals(same(written(frame)(_).where("A > 10")), Seq("[2,20]", "[3,30]"))
  }

  test("columns are matched by field ids") {
    set(Map("spark.sql.parquet.fieldId.read.enabled" -> "true"))
    val seven = new MetadataBuilder().putLong("parquet.field.id", 7).build()
    val other = as(spark.range(1).withColumnRenamed("id", "other"), "other", seven).schema
    def job(source: Source) = {
      source.write(as(spark.range(3).toDF(), "id", seven))
      source.reader().schema(other).load(source.path)
    }
    assertEquals(same(job), Seq("[0]", "[1]", "[2]"))
  }

  test("a frame without rows keeps its schema, and leaves the files that Spark leaves") {
    val none = residents().where("id < 0")
    assertEquals(same(written(none)), Nil)
    assertEncrypted()
    val counts = Seq(ours, theirs).map { source =>
      source.writer(none).partitionBy("country").save(s"${source.path}-days")
      files(s"${source.path}-days").size
    }
    assertEquals(counts.head, counts.last)
  }

  test("no column, and only the partition column, are as many rows") {
    for (source <- Seq(ours, theirs)) source.writer(residents()).partitionBy("country").save(source.path)
    assertEquals(same(_.read().select()).size, 20)
    assertEquals(same(_.read().select("country")).size, 20)
    assertEquals(same(_.read().select(lit(1))).size, 20)
  }

  test("a thousand columns are read".tag(SparkSuite.Nightly)) {
    // Compiling code for them takes most of the time.
    set(Map("spark.sql.codegen.factoryMode" -> "NO_CODEGEN"))
    val frame = spark.range(0, 3, 1, 1).selectExpr((0 until 1000).map(at => s"id + $at AS c$at"): _*)
    assertEquals(same(written(frame)).size, 3)
  }

  test("strange names are read and compared, also within a struct") {
    val names = Seq(
      "a.b",
      "with space",
      "größe 尺寸",
      "colon:colon",
      "semi;colon,comma",
      "{brace}(paren)",
      "a=b",
      "tab\there",
      "#%$"
    )
    val frame = spark
      .range(0, 5, 1, 1)
      .selectExpr(
        names.flatMap(name => Seq(s"id AS `$name`", s"named_struct('$name', id) AS `s $name`")): _*
      )
    Seq(ours, theirs).foreach(_.write(frame))
    assertEquals(ours.read().schema, theirs.read().schema)
    val selected = names.flatMap(name => Seq(s"`$name`", s"`s $name`.`$name`"))
    for (scan <- Seq("auto", "v2"))
      assertEquals(
        same(
          _.read("scan" -> scan)
            .where(names.map(name => s"`$name` > 1").mkString(" AND "))
            .selectExpr(selected: _*)
        ),
        Seq(2, 3, 4).map(id => selected.map(_ => id).mkString("[", ",", "]"))
      )
  }

  test("rows of many row groups, and long values, are read".tag(SparkSuite.Nightly)) {
    val small = Seq(
      "parquet.block.size" -> "16384",
      "parquet.page.size" -> "1024",
      "parquet.page.size.row.check.min" -> "10"
    )
    val frame = spark.range(0, 2000, 1, 1).selectExpr("id", "sha2(CAST(id AS STRING), 512) AS text")
    ours.write(frame, small: _*)
    assertEquals(rows(ours.read()), rows(frame))
    // Of 2.5 MB each, so that a page holds one.
    val long =
      spark.range(0, 3, 1, 1).selectExpr("id", "repeat(sha2(CAST(id AS STRING), 256), 40000) AS text")
    ours.writer(long, "compression" -> "uncompressed").mode("overwrite").save(ours.path)
    assertEquals(
      rows(ours.read().selectExpr("id", "sha2(text, 256)")),
      rows(long.selectExpr("id", "sha2(text, 256)"))
    )
  }

  // PageReaderSuite compares the readers.
  for (
    (scan, reader) <- Seq("v2" -> "pages", "auto" -> "spark", "auto" -> "pages").take(if (isWhole) 3 else 2)
  )
    test(s"older rows have the default of a new column: $scan, $reader") {
      setOptions(kms ++ Map("scan" -> scan, "reader" -> reader))
      set(Map("spark.sql.parquet.aggregatePushdown" -> "true", allowsDefaults))
      if (scan == "v2") set(Map("spark.sql.sources.useV1SourceList" -> ""))
      for (source <- Seq(ours, theirs)) {
        val statements = Seq(
          s"CREATE TABLE {t} (id INT, level INT DEFAULT 3, s STRUCT<a: INT>) ${source.clause()}",
          "INSERT INTO {t} (id) VALUES (1), (2)",
          "ALTER TABLE {t} ADD COLUMNS (extra INT DEFAULT 5, word STRING DEFAULT 'none')",
          "INSERT INTO {t} VALUES (3, DEFAULT, NULL, 6, DEFAULT), (4, 8, named_struct('a', 1), NULL, 'x')"
        )
        statements.foreach(text => spark.sql(text.replace("{t}", source.table)))
      }
      for ((vectorized, turn) <- Seq("true", "false").zipWithIndex) {
        set(Map("spark.sql.parquet.enableVectorizedReader" -> vectorized))
        assertEquals(same(source => spark.table(source.table)).size, 4)
        val asked = Seq("min(extra)", "max(level)", "count(extra)", "count(word)", "max(word)")
        assertEquals(same(source => spark.table(source.table).selectExpr(asked: _*)), Seq("[5,8,3,4,x]"))
        for (
          ((condition, count), at) <- Seq(
            "extra = 5" -> 2,
            "extra IS NULL" -> 1,
            "extra > 5" -> 1,
            "word = 'none'" -> 3
          ).zipWithIndex
          if isWhole || at % 2 == turn
        )
          assertEquals(same(source => spark.table(source.table).where(condition)).size, count, condition)
      }
    }

  for (scan <- Seq("v1", "v2"))
    test(s"an index skips no file whose rows have the default of a new column: $scan") {
      setOptions(kms + ("scan" -> scan))
      set(Map(allowsDefaults))
      spark.sql(s"CREATE TABLE later (id INT) ${ours.clause()} LOCATION '${ours.path}'")
      spark.sql("INSERT INTO later VALUES (1)")
      spark.sql("ALTER TABLE later ADD COLUMNS (extra INT DEFAULT 5)")
      spark.sql("INSERT INTO later VALUES (2, 6)")
      val indexes = Seq("minMax", "valueList")
        .map(kind => IndexRequests.parse(s"""{"kind": "$kind", "column": "extra", "parameters": {}}"""))
      Sealing.seal(spark, ours.path, kms, Some(indexes), Some("unsealed"))
      val cases = Seq(
        ("extra = 5", "1", 1),
        ("extra < 6", "1", 1),
        ("extra IS NOT NULL", "12", 2),
        ("extra = 6", "2", 2),
        ("extra = 7", "", 1)
      )
      for ((condition, ids, files) <- cases) {
        val found = spark.table("later").where(condition).select("id")
        assertEquals(rows(found), ids.map(id => s"[$id]").toSeq, condition)
        // The file without the column is always read.
        assert(QueryStatistics.json(found).contains(s""""filesRead":$files"""), condition)
      }
    }
}
