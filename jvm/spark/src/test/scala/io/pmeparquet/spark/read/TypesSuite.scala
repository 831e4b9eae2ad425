package io.pmeparquet.spark.read

import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.types.MetadataBuilder
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{PairSuite, SparkSuite}

/** Every type that Spark writes to Parquet, read back as through Spark's own source by each reader. */
class TypesSuite extends PairSuite {
  private val vectorized = "spark.sql.parquet.enableVectorizedReader"

  private val values = Seq(
    "boolean" -> "id % 2 = 0",
    "tinyint" -> "CAST(id - 128 AS TINYINT)",
    "smallint" -> "CAST(id - 32768 AS SMALLINT)",
    "int" -> "CAST(id - 2147483648 AS INT)",
    "bigint" -> "id - 9223372036854775807",
    "float" -> "CAST(id / 3 AS FLOAT)",
    "double" -> "id / 7",
    "not_a_number" -> "CAST(IF(id = 1, 'NaN', '-Infinity') AS DOUBLE)",
    "string" -> "concat('żółw 🐢 ', id)",
    "binary" -> "unhex(sha2(CAST(id AS STRING), 256))",
    "empty_binary" -> "CAST('' AS BINARY)",
    "date" -> "date_add(DATE'1582-10-15', CAST(id * 300000 AS INT))",
    "timestamp" -> "TIMESTAMP'1969-12-31 23:59:59.999999' + make_interval(0, 0, 0, 0, 0, 0, id)",
    "timestamp_ntz" -> "TIMESTAMP_NTZ'1900-02-28 12:34:56.123456' + make_interval(0, id)",
    "struct" -> "named_struct('a', id, 'b', named_struct('c', 'x', 'd', CAST(NULL AS INT)))",
    "array" -> "array(id, NULL, id * 2)",
    "map" -> "map(id, concat('v', id), id + 10, NULL)",
    "deep" -> ("array(map('k', array(named_struct('m', map(id, array(array(named_struct('leaf', id), NULL)))))), " +
      "map('empty', array()))"),
    "all_null" -> "CAST(NULL AS STRING)",
    "null_struct" -> "IF(id % 2 = 0, named_struct('a', id), NULL)",
    "year_month" -> "make_ym_interval(CAST(id AS INT), 7)",
    "year" -> "CAST(make_ym_interval(CAST(id AS INT), 0) AS INTERVAL YEAR)",
    "day_second" -> "make_dt_interval(CAST(id AS INT), 3, 4, 5.678901)",
    "hour" -> "CAST(make_dt_interval(0, CAST(id AS INT)) AS INTERVAL HOUR)"
  )

  private def written(frame: DataFrame, more: (String, String)*)(source: Source): DataFrame = {
    source.write(frame, more: _*)
    source.read()
  }

  test("each type reads back, in batches and row by row") {
    val columns = values.map { case (name, value) => s"IF(id = 4, NULL, $value) AS `$name`" }
    val frame = spark.range(0, 9, 1, 1).selectExpr("id" +: columns: _*)
    assertEquals(same(written(frame)(_).selectExpr(shown: _*)).size, 9)
    set(Map(vectorized -> "false"))
    assertEquals(same(_.read().selectExpr(shown: _*)).size, 9)
    assertEquals(ours.read().schema, theirs.read().schema)
  }

  /** Bytes as text, since rows show arrays by address. */
  private def shown =
    "id" +: values.map { case (name, _) => if (name.contains("binary")) s"hex(`$name`)" else s"`$name`" }

  test("decimals of every width read back, in both formats") {
    val columns = (1 to 38).map { width =>
      val (whole, fraction) = ("9" * (width - width / 2), "9" * (width / 2))
      s"CAST(CASE id WHEN 0 THEN '-$whole.$fraction' WHEN 1 THEN '0.1' WHEN 2 THEN NULL ELSE '$whole' END " +
        s"AS DECIMAL($width, ${width / 2})) AS d$width"
    }
    for (legacy <- Seq("true", "false")) {
      set(Map("spark.sql.parquet.writeLegacyFormat" -> legacy))
      val frame = spark.range(0, 4, 1, 1).selectExpr(columns: _*)
      for (source <- Seq(ours, theirs)) source.writer(frame).mode("overwrite").save(source.path)
      for (batches <- Seq("false", "true")) {
        set(Map(vectorized -> batches))
        assertEquals(same(_.read()).size, 4)
      }
    }
  }

  test("timestamps are compared and read as they are stored") {
    for (stored <- Seq("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS")) {
      set(Map("spark.sql.parquet.outputTimestampType" -> stored))
      val frame = spark
        .range(0, 5, 1, 1)
        .selectExpr(
          s"'$stored' AS stored",
          "TIMESTAMP'2001-02-03 04:05:06.789' + make_interval(id) AS t"
        )
      Seq(ours, theirs).foreach(source => source.writer(frame).mode("overwrite").save(source.path))
      for (batches <- Seq("true", "false")) {
        set(Map(vectorized -> batches))
        assertEquals(same(_.read().where("t > TIMESTAMP'2002-01-01'")).size, 4)
      }
    }
  }

  test("old dates are read as they were written") {
    for ((mode, stored) <- Seq("LEGACY" -> "INT96", "CORRECTED" -> "TIMESTAMP_MICROS")) {
      set(
        Map(
          "spark.sql.parquet.datetimeRebaseModeInWrite" -> mode,
          "spark.sql.parquet.int96RebaseModeInWrite" -> mode,
          "spark.sql.parquet.outputTimestampType" -> stored
        )
      )
      same(written(spark.sql("SELECT DATE'1200-01-01' AS d, TIMESTAMP'1200-01-01 00:00:00' AS t")))
    }
    val text = ours.read().selectExpr("CAST(d AS STRING)", "CAST(t AS STRING)").distinct()
    assertEquals(rows(text), Seq("[1200-01-01,1200-01-01 00:00:00]"))
  }

  test("CHAR and VARCHAR read back with their lengths") {
    def of(name: String, sqlType: String) = {
      val length = new MetadataBuilder().putString("__CHAR_VARCHAR_TYPE_STRING", sqlType).build()
      expr(s"CAST('$name' AS $sqlType)").as(name, length)
    }
    val frame = spark.range(1).select(of("ab", "char(4)"), of("cd", "varchar(4)"))
    assertEquals(same(written(frame)).size, 1)
    assertEquals(ours.read().schema.map(_.metadata), frame.schema.map(_.metadata))
  }

  test("variants read back".tag(SparkSuite.Newest)) {
    assumeSpark4()
    compileExpressions()
    val frame =
      spark.range(5).selectExpr("id", """parse_json(format_string('{"a": [%d, null], "b": "x"}', id)) AS v""")
    Seq(ours, theirs).foreach(_.write(frame))
    val asked = Seq("id", "to_json(v)", "variant_get(v, '$.a[0]', 'int') AS a", "v IS NULL AS n")
    for (scan <- Seq("v1", "v2"))
      assertEquals(same(_.read("scan" -> scan).where("id > 1").selectExpr(asked: _*)).size, 3)
  }

  test("collated strings are compared by their collation".tag(SparkSuite.Newest)) {
    assumeSpark4()
    val frame = spark.sql("SELECT 'Straße' COLLATE UTF8_LCASE AS s")
    assertEquals(same(written(frame)(_).where("s = 'STRASSE' OR s = 'straße'")).size, 1)
  }

  test("what Spark's own source does not write is refused as there") {
    val interval = spark.range(1).selectExpr("make_interval(1, 2, 3, 4) AS v")
    val nothing = spark.range(2).selectExpr("id", "NULL AS v")
    val none = spark.range(3).select()
    for (frame <- Seq(interval, nothing, none)) {
      val (found, expected) = both(source => outcome(written(frame)(source)))
      assertEquals(found, expected)
      // Spark 4.2 writes columns of type VOID.
      if (frame != nothing) assert(found.isLeft)
    }
  }
}
