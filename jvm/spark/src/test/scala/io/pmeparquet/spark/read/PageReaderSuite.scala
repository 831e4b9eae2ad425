package io.pmeparquet.spark.read

import java.time.LocalDate

import org.apache.parquet.example.data.simple.NanoTime
import org.apache.parquet.example.data.Group
import org.apache.spark.sql.types._
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{PairSuite, SparkSuite}
import io.pmeparquet.testkit.TestKms
import io.pmeparquet.Condition.Unsupported

/**
 * `reader=pages` gives the rows that `reader=spark` gives, or fails as it does, in each mode of Spark's readers. Each
 * query of a test runs in one of the modes, in turn; with `PME_TEST_ALL`, in all of them.
 */
class PageReaderSuite extends PairSuite {
  private val vectorized = "spark.sql.parquet.enableVectorizedReader"
  private val nested = "spark.sql.parquet.enableNestedColumnVectorizedReader"
  private val batch = "spark.sql.parquet.columnarReaderBatchSize"
  private val recordFilter = "spark.sql.parquet.recordLevelFilter.enabled"

  private val modes: Seq[Map[String, String]] = Seq(
    Map(vectorized -> "true"),
    Map(vectorized -> "false"),
    Map(batch -> "7"),
    Map(nested -> "false"),
    Map(vectorized -> "false", recordFilter -> "true")
  ).map(Map(vectorized -> "true", nested -> "true", batch -> "4096", recordFilter -> "false") ++ _)

  private val pages = new Source(SparkSuite.Format, ours.options + ("reader" -> "pages"), "ours")
  private val whole = new Source(SparkSuite.Format, ours.options + ("reader" -> "spark"), "ours")

  /** Writes one file with pages of ten rows. */
  private def save(frame: DataFrame, more: (String, String)*): Unit =
    ours.write(frame.coalesce(1), more :+ ("parquet.page.row.count.limit" -> "10"): _*)

  private var turn = 0

  /** A query that no other one of its test resembles runs in more than one mode. */
  private val twice = 1 to (if (isWhole) 1 else 2)

  /** Compares the readers in the next mode, and returns how many rows they give: none if both fail in the same way. */
  private def compared(query: Source => DataFrame, clue: String): Option[Int] = {
    turn += 1
    // One frame for schema and rows: each reads footers.
    def answer(source: Source) = {
      lazy val frame = query(source)
      outcome(frame).map(frame.schema -> _)
    }
    val counts = for (mode <- if (isWhole) modes else Seq(modes(turn % modes.size))) yield {
      set(mode)
      val expected = answer(whole)
      assertEquals(answer(pages), expected, s"$clue in $mode")
      expected.toOption.map { case (_, found) => found.size }
    }
    // The last mode's: the oldest Spark reads some types only by rows.
    counts.last
  }

  private def rowsOf(
      conditions: Seq[String],
      columns: Seq[String] = Seq("*"),
      schema: Option[StructType] = None,
      more: Seq[(String, String)] = Nil
  ): Seq[Option[Int]] = conditions.map { condition =>
    compared(
      { source =>
        val reader = source.reader(more: _*)
        schema.fold(reader)(reader.schema).load(source.path).where(condition).selectExpr(columns: _*)
      },
      condition
    )
  }

  private def assertRead(counts: Seq[Option[Int]], expected: Int*): Unit =
    assertEquals(counts, expected.map(Some(_)))

  /**
   * The first condition and two of the others, which ones by a number; with `PME_TEST_ALL`, all. Modes in turn have both
   * of Spark's readers among each three.
   */
  private def three[A](conditions: Seq[A], number: Int): Seq[A] =
    if (isWhole) conditions
    else
      conditions.head +: Seq(0, 1).map(more => conditions.tail((2 * number + more) % (conditions.size - 1)))

  private def wide: DataFrame = spark
    .range(0, 100, 1, 1)
    .selectExpr(
      "id",
      "CAST(id AS INT) AS i",
      "CAST(id AS TINYINT) AS b",
      "CAST(id / 4 AS FLOAT) AS f",
      "CAST(id / 8 AS DECIMAL(7, 2)) AS d",
      "date_add(DATE'2020-01-01', CAST(id AS INT)) AS day",
      "timestamp_micros(id * 1000000) AS at",
      "IF(id % 5 = 0, NULL, concat('t', id % 7)) AS t",
      "named_struct('x', id, 'y', concat('y', id)) AS s",
      "array(named_struct('x', id)) AS l",
      "map(concat('k', id % 3), named_struct('x', id)) AS m"
    )

  test("columns that the file lacks are null") {
    save(wide)
    val schema = StructType.fromDDL(
      "none INT, id BIGINT, s STRUCT<none: STRING, x: BIGINT>, none2 STRUCT<a: INT, b: ARRAY<INT>>, " +
        "l ARRAY<STRUCT<none: INT, x: BIGINT>>, m MAP<STRING, STRUCT<x: BIGINT, none: INT>>, t STRING"
    )
    val conditions = Seq(
      "none IS NULL",
      "none = 3",
      "none <=> NULL AND id > 95",
      "none = 3 OR id = 7",
      "s.none IS NULL AND id < 5",
      "s.none = 'v' OR s.x = 55",
      "NOT (none = 3)",
      "coalesce(none, 3) = 3 AND id IN (1, 50, 99)",
      "id > 97 AND none2.a IS NULL"
    )
    assertRead(rowsOf(conditions, schema = Some(schema)), 100, 0, 4, 1, 5, 1, 0, 3, 2)
    val lacking =
      StructType.fromDDL("none INT, s STRUCT<none: STRING>, l ARRAY<STRUCT<none: INT>>, other STRING")
    for (columns <- Seq("none", "s", "l", "none, s, other", "s.none"))
      assertRead(rowsOf(Seq("true"), columns.split(", ").toSeq, Some(lacking)), 100)
  }

  test("schemas are merged".tag(SparkSuite.Nightly)) {
    save(spark.range(100).selectExpr("id", "concat('a', id) AS a", "named_struct('x', id) AS s"))
    save(spark.range(100).selectExpr("id", "id * 2.5D AS b", "named_struct('x', id, 'y', 'q') AS s"))
    val conditions = Seq("b = 25.0 OR a = 'a7'", "s.y = 'q' AND id > 90", "a IS NULL", "b IS NOT NULL")
    val columns = Seq("id", "a", "b", "s")
    assertRead(rowsOf(conditions, columns, more = Seq("mergeSchema" -> "true")), 2, 9, 100, 100)
  }

  test("types other than those of the file are read, or fail, as in Spark's reader") {
    save(wide)
    val cases = Seq(
      "i BIGINT, id BIGINT" -> "i = 77",
      "i DOUBLE" -> "i > 90.5D",
      "i DECIMAL(20, 2)" -> "i = 5",
      "b INT" -> "b < 3",
      "b BIGINT, i INT" -> "b < 3 OR i = 50",
      "b SHORT" -> "b IN (1, 2)",
      "f DOUBLE" -> "f >= 24.5D",
      "d DECIMAL(12, 2)" -> "d = 1.25",
      "d DECIMAL(12, 4)" -> "d = 1.25",
      "d DECIMAL(5, 2)" -> "d = 1.25",
      "day TIMESTAMP_NTZ" -> "day > TIMESTAMP_NTZ'2020-03-01 00:00:00'",
      "id INT" -> "id = 3",
      "id STRING" -> "id = '3'",
      "t INT" -> "t = 3",
      "t BINARY" -> "t = X'7433'",
      "at BIGINT" -> "at > 3",
      "at TIMESTAMP_NTZ" -> "at > TIMESTAMP_NTZ'1970-01-01 00:01:00'",
      "s STRUCT<x: INT>" -> "s.x = 3",
      "s BIGINT" -> "s = 3",
      "l ARRAY<STRUCT<x: DOUBLE>>" -> "l[0].x > 97",
      "m MAP<STRING, STRUCT<x: INT>>" -> "m['k1'].x > 90",
      "l MAP<STRING, INT>" -> "l IS NOT NULL"
    )
    val counts = cases.zipWithIndex.flatMap { case ((schema, condition), at) =>
      val conditions = if (isWhole || at % 3 == 0) Seq("true", condition) else Seq(condition)
      rowsOf(conditions, Seq("to_json(struct(*))"), Some(StructType.fromDDL(schema)))
    }
    // Some are read and some fail, in any Spark.
    assert(counts.contains(None) && counts.contains(Some(100)) && counts.contains(Some(1)), counts)
  }

  test("columns that came later have their defaults in older files".tag(SparkSuite.Nightly)) {
    save(spark.range(100).toDF())
    save(spark.range(100, 130).selectExpr("id", "CAST(id AS INT) AS c", "'some' AS t"))
    def default(there: String, now: String) = new MetadataBuilder()
      .putString("EXISTS_DEFAULT", there)
      .putString("CURRENT_DEFAULT", now)
      .build()
    val schema = new StructType()
      .add("id", LongType)
      .add("c", IntegerType, nullable = true, default("42", "42"))
      .add("t", StringType, nullable = true, default("'none'", "'x'"))
    val conditions = Seq("true", "c = 42", "c <> 42", "c = 42 AND id = 3", "t = 'none' OR id = 5")
    assertRead(rowsOf(conditions, schema = Some(schema)), 130, 100, 30, 1, 100)
  }

  test("names are matched in the session's way") {
    save(wide)
    val schema = StructType.fromDDL(
      "ID BIGINT, T STRING, S STRUCT<X: BIGINT, Y: STRING>, L ARRAY<STRUCT<X: BIGINT>>"
    )
    val conditions = Seq("ID = 3", "S.X > 90", "T IS NULL", "NOT (T = 't3') AND ID < 40")
    set(Map("spark.sql.caseSensitive" -> "true"))
    if (isWhole)
      assertRead(rowsOf(Seq("S.X > 90", "NOT (T = 't3') AND ID < 40"), schema = Some(schema)), 0, 0)
    assertRead(rowsOf(Seq("ID = 3", "T IS NULL"), schema = Some(schema)), 0, 100)
    set(Map("spark.sql.caseSensitive" -> "false"))
    assertRead(rowsOf(conditions, schema = Some(schema)), 1, 9, 20, 27)
  }

  test("names that differ only in case are two columns, or one that cannot be read") {
    set(Map("spark.sql.caseSensitive" -> "true"))
    save(spark.range(100).selectExpr("id AS a", "id * 10 AS A"))
    for (_ <- twice) assertRead(rowsOf(Seq("A > 10 AND a < 50")), 48)
    set(Map("spark.sql.caseSensitive" -> "false"))
    for (_ <- twice)
      assertEquals(rowsOf(Seq("a = 10"), schema = Some(StructType.fromDDL("a BIGINT"))), Seq(None))
  }

  test("partitions are selected, counted and compared with columns") {
    val frame = wide.selectExpr("*", "id % 3 AS p", "concat('v', id % 3) AS q").coalesce(1)
    ours.writer(frame, "parquet.page.row.count.limit" -> "10").partitionBy("p", "q").save(ours.path)
    val queries = Seq(
      "SELECT * FROM t WHERE p = 1 AND id > 40" -> 19,
      "SELECT p FROM t" -> 100,
      "SELECT p, count(*) FROM t GROUP BY p" -> 3,
      "SELECT id, p FROM t WHERE id = p" -> 3,
      "SELECT p, q, s.x FROM t WHERE s.x % 10 = p OR q = 'v2'" -> 41,
      "SELECT count(*) FROM t" -> 1,
      "SELECT count(*) FROM t WHERE id > 77" -> 1,
      "SELECT count(*), max(p) FROM t WHERE p > 0" -> 1,
      "SELECT 1 FROM t WHERE t IS NULL" -> 20
    )
    for ((query, count) <- queries)
      assertEquals(
        compared(
          { source =>
            source.read().createOrReplaceTempView("t")
            spark.sql(query)
          },
          query
        ),
        Some(count),
        query
      )
  }

  test("a partition column that is also in the files has the directory's value") {
    val frame = spark.range(0, 50, 1, 1).selectExpr("id", "id AS p", "'a' AS z")
    ours.writer(frame).save(s"${ours.path}/p=1")
    for (_ <- twice) assertRead(rowsOf(Seq("true", "p = 1 AND id = 7", "p = 7 OR id = 7")), 50, 1, 1)
  }

  for (
    ((written, stored), number) <- Seq(
      "LEGACY" -> "INT96",
      "CORRECTED" -> "INT96",
      "LEGACY" -> "TIMESTAMP_MICROS",
      "CORRECTED" -> "TIMESTAMP_MILLIS"
    ).zipWithIndex
  )
    test(s"old dates are read as they were written: $written, $stored".tag(SparkSuite.Nightly)) {
      val names = Seq("datetimeRebaseModeInWrite", "int96RebaseModeInWrite")
      set(names.map(name => s"spark.sql.parquet.$name" -> written).toMap)
      set(Map("spark.sql.parquet.outputTimestampType" -> stored))
      save(
        spark
          .range(0, 300, 1, 1)
          .selectExpr(
            "id",
            "date_add(DATE'1200-01-01', CAST(id * 1000 AS INT)) AS d",
            "TIMESTAMP'1200-01-01 00:00:00' + make_dt_interval(CAST(id * 1000 AS INT)) AS t",
            "named_struct('d', DATE'1100-02-28', 't', TIMESTAMP'1100-02-28 12:00:00') AS s"
          )
      )
      val text = Seq("id", "CAST(d AS STRING)", "CAST(t AS STRING)", "CAST(s AS STRING)")
      val conditions = Seq(
        "true" -> 300,
        "d = DATE'1200-01-01'" -> 1,
        "d < DATE'1300-01-01' AND t > TIMESTAMP'1210-01-01 00:00:00'" -> 33,
        "d > DATE'1990-01-01' OR s.d IS NULL" -> 11,
        "t IS NOT NULL" -> 300
      )
      for ((condition, count) <- three(conditions, number)) assertRead(rowsOf(Seq(condition), text), count)
    }

  private val moments = Seq("1200-01-01", "1582-10-04", "1582-10-15", "1900-01-01", "2020-02-02")

  /** A file of another writer, with dates from before the Gregorian calendar, nulls and bytes. */
  private def writeMoments(isInt96: Boolean): Unit = {
    val time = if (isInt96) "int96 t" else "int64 t (TIMESTAMP(MICROS, true))"
    val rows = (0 until 60).map { at => (group: Group) =>
      group.append("id", at.toLong)
      moments.lift(at % (moments.size + 1)).foreach { moment =>
        val day = LocalDate.parse(moment)
        group.append("d", day.toEpochDay.toInt)
        val seconds = 3 * 3600L + 4 * 60 + 5
        if (isInt96) group.append("t", new NanoTime((day.toEpochDay + 2440588).toInt, seconds * 1000000000L))
        else group.append("t", (day.toEpochDay * 86400 + seconds) * 1000000)
      }
      group.append("raw", s"r$at")
    }
    OtherWriter.write(
      s"${ours.path}/a.parquet",
      s"message m { required int64 id; optional int32 d (DATE); optional $time; optional binary raw; }",
      rows,
      isEncrypted = true
    )
  }

  for (
    ((isInt96, rebase), number) <- Seq(
      true -> "LEGACY",
      false -> "EXCEPTION",
      false -> "LEGACY",
      true -> "CORRECTED"
    ).take(if (isWhole) 4 else 2).zipWithIndex
  )
    test(s"old dates of other writers follow the session: isInt96=$isInt96, $rebase") {
      writeMoments(isInt96)
      val names = Seq("datetimeRebaseModeInRead", "int96RebaseModeInRead")
      set(names.map(name => s"spark.sql.parquet.$name" -> rebase).toMap)
      val text = Seq("id", "CAST(d AS STRING)", "CAST(t AS STRING)", "hex(raw)")
      val conditions =
        Seq("true", "d = DATE'2020-02-02'", "t < TIMESTAMP'1500-01-01 00:00:00'", "d IS NULL", "id = 4")
      val asked = three(conditions, number)
      val counts = asked.zip(rowsOf(asked, text)).toMap
      if (rebase == "EXCEPTION") assertEquals(counts("true"), None)
      else {
        assertEquals(counts("true"), Some(60))
        assert(counts.get("id = 4").forall(_.contains(1)), counts)
      }
      val options = Seq("datetimeRebaseMode" -> "CORRECTED", "int96RebaseMode" -> "LEGACY")
      assertRead(rowsOf(Seq("true"), text, more = options), 60)
    }

  private val zones =
    Seq("America/Los_Angeles" -> "true", "UTC" -> "false", "Asia/Kolkata" -> "true")

  for ((zone, conversion) <- zones.take(if (isWhole) 3 else 2))
    test(s"INT96 of other writers is read in the session's time zone: $zone, $conversion") {
      writeMoments(isInt96 = true)
      set(
        Map(
          "spark.sql.session.timeZone" -> zone,
          "spark.sql.parquet.int96TimestampConversion" -> conversion,
          "spark.sql.parquet.int96RebaseModeInRead" -> "CORRECTED",
          "spark.sql.parquet.datetimeRebaseModeInRead" -> "CORRECTED"
        )
      )
      for (_ <- twice) {
        assertRead(rowsOf(Seq("true"), Seq("id", "CAST(t AS STRING)", "unix_micros(t)")), 60)
        assertRead(rowsOf(Seq("t > TIMESTAMP'2020-02-01 00:00:00'"), Seq("id")), 10)
      }
    }

  test("bytes of other writers are read as strings, if the session sets that") {
    writeMoments(isInt96 = false)
    set(
      Map(
        "spark.sql.parquet.binaryAsString" -> "true",
        "spark.sql.parquet.datetimeRebaseModeInRead" -> "CORRECTED"
      )
    )
    for (_ <- twice) assertRead(rowsOf(Seq("raw = 'r7' OR raw LIKE 'r5%'"), Seq("id", "raw")), 12)
  }

  // TypesSuite reads decimals in both.
  for (legacy <- if (isWhole) Seq("true", "false") else Seq("true"))
    test(s"lists and decimals are read in either format: writeLegacyFormat=$legacy") {
      set(Map("spark.sql.parquet.writeLegacyFormat" -> legacy))
      save(wide.selectExpr("*", "array(d, NULL) AS ds", "CAST(id AS DECIMAL(30, 3)) AS big"))
      val conditions = Seq("true", "d = 1.25", "big > 97", "ds[0] = 1.25 OR l[0].x = 99", "ds IS NOT NULL")
      assertRead(rowsOf(conditions), 100, 1, 2, 2, 100)
    }

  test("filters give the same rows with each level turned off") {
    save(wide)
    val conditions = Seq(
      "id = 50" -> 1,
      "id <> 50" -> 99,
      "NOT (t = 't3')" -> 69,
      "t IS NULL" -> 20,
      "t NOT IN ('t1', 't2')" -> 56,
      "id > 10 AND id < 20" -> 9,
      "s.x = 5" -> 1
    )
    for (pushed <- Seq("true", "false"); ((condition, count), at) <- conditions.zipWithIndex) {
      set(Map("spark.sql.parquet.filterPushdown" -> pushed))
      // Without push-down nothing is skipped, whatever the condition.
      val isAsked = isWhole || pushed == "true" || at % 3 == 0
      if (isWhole || isAsked && at % 2 == 0) assertRead(rowsOf(Seq(condition)), count)
      if (isWhole || isAsked && at % 2 == 1)
        assertRead(rowsOf(Seq(condition), Seq("_metadata.row_index", "l", "t")), count)
    }
    set(Map("spark.sql.parquet.filterPushdown" -> "true"))
    val levels = Seq("stats", "dictionary", "columnindex", "bloom")
    for ((level, shift) <- levels.zipWithIndex; ((condition, count), at) <- conditions.zipWithIndex)
      if (isWhole || at == 3 + shift)
        assertRead(
          rowsOf(Seq(condition), Seq("id"), more = Seq(s"parquet.filter.$level.enabled" -> "false")),
          count
        )
  }

  test("limits, top rows and joins of the table with itself".tag(SparkSuite.Nightly)) {
    save(residents(count = 200))
    for (_ <- twice) {
      assertEquals(compared(_.read().orderBy("salary").limit(5), "top rows"), Some(5))
      assertEquals(pages.read().limit(3).collect().length, 3)
      assertEquals(pages.read().where("id > 100").take(2).length, 2)
      def join(source: Source) = {
        val (left, right) = (source.read().as("l"), source.read().where("id % 3 = 0").as("r"))
        left.join(right, "id").select("id", "l.address", "r.tags")
      }
      assertEquals(compared(join, "join"), Some(67))
    }
  }

  test("intervals are compared and read") {
    save(
      spark
        .range(60)
        .selectExpr(
          "id",
          "make_ym_interval(CAST(id AS INT), 7) AS y",
          "make_dt_interval(CAST(id AS INT)) AS d"
        )
    )
    val conditions =
      Seq("true", "y > INTERVAL '50' YEAR", "d = INTERVAL '7' DAY", "y IS NULL OR id = 3", "id < 2")
    assertRead(rowsOf(conditions, Seq("id", "CAST(y AS STRING)", "CAST(d AS STRING)")), 60, 10, 1, 1, 2)
  }

  test("variants are read".tag(SparkSuite.Newest).tag(SparkSuite.Nightly)) {
    assumeSpark4()
    compileExpressions()
    save(spark.range(60).selectExpr("id", """parse_json(format_string('{"a": [%d], "b": "x"}', id)) AS v"""))
    for (_ <- twice) {
      assertRead(rowsOf(Seq("id > 40"), Seq("id", "to_json(v) AS t")), 19)
      assertRead(rowsOf(Seq("variant_get(v, '$.a[0]', 'int') = 7"), Seq("to_json(v) AS t")), 1)
    }
  }

  test("collations are compared".tag(SparkSuite.Newest).tag(SparkSuite.Nightly)) {
    assumeSpark4()
    save(
      spark
        .range(0, 100, 1, 1)
        .selectExpr("id", "IF(id % 9 = 0, 'Straße', concat('n', id)) COLLATE UTF8_LCASE AS s")
    )
    val conditions = Seq(
      "s = 'STRAßE'",
      "s <> 'N1'",
      "s IN ('N5', 'n7')",
      "s LIKE 'STR%'",
      "startswith(s, 'N9')",
      "s > 'N8'"
    )
    assertRead(rowsOf(conditions), 12, 99, 2, 12, 8, 29)
  }

  private val parquetJava = Map(
    "parquet.crypto.factory.class" -> "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
    "parquet.encryption.kms.client.class" -> classOf[TestKms].getName,
    "parquet.encryption.uniform.key" -> "footer",
    "parquet.writer.version" -> "v2",
    "parquet.page.row.count.limit" -> "10",
    "parquet.page.write-checksum.enabled" -> "true"
  )

  for (
    (algorithm, codec) <- Seq(
      "AES_GCM_V1" -> "none",
      "AES_GCM_CTR_V1" -> "snappy",
      "AES_GCM_V1" -> "zstd",
      "AES_GCM_CTR_V1" -> "gzip"
    ).take(if (isWhole) 4 else 2)
  )
    test(s"V2 pages of parquet-java are read where their clear levels are allowed: $algorithm, $codec") {
      val options = parquetJava ++ Map("parquet.encryption.algorithm" -> algorithm, "compression" -> codec)
      val all = residents(count = 60)
      all.write.options(options).parquet(ours.path)
      for (mode <- Seq(modes.head, modes(1))) {
        set(mode)
        val read = pages.reader("algorithm" -> "AES_GCM_CTR_V1")
        refused(Unsupported, ".parquet", "clearLevels=allow")(read.load(ours.path).collect())
        val allowed = read.option("clearLevels", "allow").load(ours.path)
        for (condition <- Seq("true", "name = 'name-22' AND id > 20", "address.zip = 33"))
          assertEquals(rows(allowed.where(condition)), rows(all.where(condition)), condition)
      }
    }
}
