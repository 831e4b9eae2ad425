package io.pmeparquet.spark.snapshot

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.sql.types.{LongType, MetadataBuilder, StructType}
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{SealedSuite, SparkSuite}
import io.pmeparquet.spark.keys.HolderKms
import io.pmeparquet.spark.SparkSuite.Newest
import io.pmeparquet.Condition.{KeyDenied, SnapshotMismatch, UnknownColumn}

/** Files that a min/max index proves to hold no row of a query are not read; rows are never lost. */
class SkippedFilesSuite extends SealedSuite {

  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    // Interpreting these small queries takes a tenth of the time.
    set(Map("spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN"))
  }

  // Old dates as they are: Spark 3.5 refuses to write them otherwise.
  private val calendar = Map(
    "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
    "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS"
  )

  // Four files of ten rows: each column rises from file to file, has one null in the second, and is all null in the last.
  private val tenths = "CASE WHEN id = 15 OR id >= 30 THEN NULL WHEN id >= 20 THEN 20 ELSE id END"
  private val columns = Seq(
    "id",
    s"$tenths AS n",
    s"CAST($tenths AS INT) AS i",
    s"CAST($tenths AS TINYINT) AS tiny",
    s"IF(id % 10 = 9, NULL, named_struct('n', $tenths, 'deep', named_struct('n', $tenths))) AS inner",
    s"CAST(($tenths) / 2 AS DECIMAL(7, 1)) AS small",
    s"CAST(($tenths) / 2 AS DECIMAL(15, 1)) AS medium",
    s"CAST(($tenths) / 2 AS DECIMAL(30, 1)) AS large",
    s"date_add(DATE'1582-01-01', CAST(($tenths) * 10000 AS INT)) AS day",
    s"timestamp_seconds(($tenths) * 86400 - 864000) AS at",
    s"CAST(timestamp_seconds(($tenths) * 86400 - 864000) AS TIMESTAMP_NTZ) AS wall",
    s"id < 10 AND ($tenths) IS NOT NULL AS first",
    "IF(id = 15 OR id >= 30, NULL, concat(element_at(array('a', 'm', 'żółw-🐢'), INT(id / 10) + 1), id)) AS word",
    // Longer than the 4,096 bytes up to which statistics are kept.
    "CASE WHEN id < 10 THEN repeat('a', 3000) WHEN id < 20 THEN repeat('m', 100) WHEN id < 30 THEN 'z' END AS long",
    "CASE WHEN id < 10 THEN IF(id % 2 = 0, 0.0D, -0.0D) WHEN id < 20 THEN IF(id = 11, double('NaN'), id / 1.0D) " +
      "WHEN id < 30 THEN IF(id % 2 = 0, double('-Infinity'), double('Infinity')) END AS ratio",
    "CASE WHEN id < 10 THEN float('-0.0') WHEN id < 20 THEN float('NaN') WHEN id < 30 THEN float('2.5') END AS half"
  )
  private val indexed =
    Seq("id", "n", "i", "tiny", "inner.n", "inner.deep.n", "small", "medium", "large", "day") ++
      Seq("at", "wall", "first", "word", "long", "ratio", "half")

  private lazy val table = {
    set(calendar)
    val made = Files.createTempDirectory(SparkSuite.scratch, "skipping").resolve("table").toString
    sealedTable(spark.range(0, 40, 1, 4).selectExpr(columns: _*), made, indexes = minMax(indexed: _*))
  }

  // A condition, and which of the four files a scan needs for it.
  private val ofNumbers = Seq(
    "{} = 5" -> "0",
    "{} = 100" -> "",
    "{} <> 20" -> "01",
    "{} <> 5" -> "012",
    "{} < 10" -> "0",
    "{} <= 10" -> "01",
    "{} > 19" -> "2",
    "{} >= 19" -> "12",
    "19 <= {}" -> "12",
    "{} IN (3, 20)" -> "02",
    "{} IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)" -> "01",
    "{} IN (3, NULL)" -> "0",
    "{} NOT IN (20)" -> "01",
    "{} NOT IN (20, NULL)" -> "",
    "{} BETWEEN 8 AND 12" -> "01",
    "NOT ({} BETWEEN 0 AND 12)" -> "12",
    "{} IS NULL" -> "13",
    "{} IS NOT NULL" -> "012",
    "{} <=> 20" -> "2",
    "{} <=> NULL" -> "13",
    "NOT ({} <=> 20)" -> "013",
    "{} < 5 AND {} > 9" -> "",
    "{} > 5 AND {} < 12" -> "01",
    "{} < 5 OR {} = 20" -> "02",
    "{} IS NULL OR {} = 5" -> "013",
    "NOT ({} < 20)" -> "2",
    "NOT ({} < 10 OR {} = 20)" -> "1",
    "NOT ({} >= 10 AND {} <= 20)" -> "0",
    "{} = NULL" -> ""
  )
  private val ofOthers = Seq(
    // What Spark does not push down: only that the column is not null.
    "n % 2 = 0" -> "012",
    "n + 1 = 6" -> "012",
    "n = i" -> "012",
    "n = 5 OR hash(n) = 1" -> "0123",
    "coalesce(n, 0) = 0" -> "0123",
    // Of a conjunction, the part that is known counts, also below an OR.
    "n = 5 AND hash(id) <> 0" -> "0",
    "n = 20 OR (i < 3 AND hash(id) <> 0)" -> "02",
    "(n = 20 AND hash(id) <> 0) OR (i < 3 AND hash(id) <> 0)" -> "02",
    "NOT (n <> 5 OR hash(id) = 0)" -> "0",
    "n = 5 OR id = 39" -> "03",
    "id = 5 OR n IS NULL" -> "013",
    "inner.n > 19" -> "2",
    "inner.deep.n = 5" -> "0",
    "inner.n IS NULL" -> "0123",
    // Casts that Spark takes away, because they keep order.
    "n = 5.5" -> "",
    "n = '5'" -> "0",
    "n = 5.0" -> "0",
    "CAST(i AS BIGINT) = 5" -> "0",
    "CAST(i AS DOUBLE) < 9.5D" -> "0",
    "i > 5000000000" -> "",
    "i < 5000000000" -> "012",
    "tiny = 300" -> "",
    "CAST(tiny AS INT) BETWEEN 15 AND 300" -> "12",
    "small > 9" -> "12",
    "half > 2.25D" -> "12",
    // It does not: a bigint is no exact double, and 05 is 5.
    "n = 5.5D" -> "012",
    "CAST(n AS STRING) = '5'" -> "012",
    "small = 2.5" -> "0",
    "small > 9.5" -> "2",
    "small < 0" -> "",
    "medium BETWEEN 4.5 AND 5.0" -> "01",
    "medium IN (0.5, 10.0, NULL)" -> "02",
    "large = 2.5" -> "0",
    "large >= 9.5" -> "12",
    "large < 5" -> "0",
    "large IS NULL" -> "13",
    "day = DATE'1582-01-01'" -> "0",
    "day < DATE'1700-01-01'" -> "0",
    "day > DATE'2110-01-01'" -> "2",
    "day IN (DATE'1582-01-01', DATE'9999-12-31')" -> "0",
    "day = '1582-01-01'" -> "0",
    "day BETWEEN '1800-01-01' AND '1900-01-01'" -> "01",
    "day > TIMESTAMP'2110-01-01 12:00:00'" -> "2",
    "day = TIMESTAMP'1582-01-01 00:00:00'" -> "0",
    "CAST(day AS TIMESTAMP_NTZ) < TIMESTAMP_NTZ'1700-01-01 00:00:00'" -> "0",
    "year(day) = 1582" -> "012",
    "at < TIMESTAMP'1970-01-01 00:00:00'" -> "0",
    "at = TIMESTAMP'1970-01-01 00:00:00'" -> "1",
    "at >= TIMESTAMP'1970-01-11 00:00:00'" -> "2",
    "at >= '1970-01-11'" -> "2",
    "at > DATE'1970-01-10'" -> "2",
    "at < TIMESTAMP_NTZ'1970-01-01 00:00:00'" -> "0",
    "at IS NOT NULL" -> "012",
    "CAST(at AS DATE) = DATE'1970-01-05'" -> "1",
    "CAST(at AS DATE) BETWEEN DATE'1970-01-05' AND DATE'1970-01-11'" -> "12",
    "CAST(at AS DATE) IN (DATE'1969-12-25', DATE'1969-12-24')" -> "0",
    "CAST(at AS DATE) <=> DATE'1970-01-05'" -> "1",
    "NOT (CAST(at AS DATE) = DATE'1970-01-11')" -> "01",
    "wall < TIMESTAMP_NTZ'1970-01-01 00:00:00'" -> "0",
    "wall = TIMESTAMP_NTZ'1970-01-11 00:00:00'" -> "2",
    "wall <> TIMESTAMP_NTZ'1970-01-11 00:00:00'" -> "01",
    "wall IN (TIMESTAMP_NTZ'1970-01-11 00:00:00', TIMESTAMP_NTZ'1969-12-25 00:00:00')" -> "02",
    "wall IS NULL" -> "13",
    "wall > DATE'1970-01-10'" -> "2",
    "wall > TIMESTAMP'1970-01-10 12:00:00'" -> "2",
    "CAST(wall AS DATE) = DATE'1970-01-05'" -> "1",
    "CAST(wall AS DATE) IN (DATE'1970-01-05')" -> "1",
    "first" -> "0",
    "NOT first" -> "123",
    "first <=> true" -> "0",
    "word = 'a5'" -> "0",
    "word = ''" -> "",
    "word > 'n'" -> "2",
    "word > 'z'" -> "2",
    "word >= 'ż'" -> "2",
    "word < 'b'" -> "0",
    "word = 'żółw-🐢25'" -> "2",
    "word IN ('a1', 'm11', 'ż')" -> "01",
    "word LIKE 'a%'" -> "0",
    "word LIKE 'ż%'" -> "2",
    "word LIKE 'żółw-🐢%'" -> "2",
    "word LIKE 'a%5'" -> "0",
    "word LIKE 'a5'" -> "0",
    "word LIKE '%5'" -> "012",
    "word LIKE 'a_'" -> "012",
    "word LIKE 'b%'" -> "",
    "word NOT LIKE 'a%'" -> "12",
    "startswith(word, 'm')" -> "1",
    "left(word, 1) = 'a'" -> "012",
    "word IS NULL" -> "13",
    // Long values have no range.
    "long = 'z'" -> "02",
    "long LIKE 'm%'" -> "01",
    "long > 'y'" -> "02",
    // Nothing bounds files with NaN, whose nulls are counted. The third file has values on both sides of zero.
    "ratio = 0.0D" -> "012",
    "ratio = -0.0D" -> "012",
    "ratio < 0.0D" -> "012",
    "ratio > 1e300D" -> "12",
    "ratio >= 0.0D" -> "012",
    "ratio <> 0.0D" -> "012",
    "ratio IN (0.0D, 77.0D)" -> "012",
    "isnan(ratio)" -> "0123",
    "ratio = double('NaN')" -> "012",
    "ratio = double('Infinity')" -> "12",
    "ratio IS NULL" -> "3",
    "half = float('0.0')" -> "01",
    "half = float('-0.0')" -> "01",
    "half > float('2')" -> "12",
    "half <> float('0.0')" -> "012",
    "half = float('NaN')" -> "012"
  )
  private val conditions: Seq[(String, String)] =
    Seq("n" -> ofNumbers.size, "i" -> 12, "tiny" -> 12).zipWithIndex.flatMap { case ((name, count), number) =>
      // Of the other types of numbers, in `make test`, a third.
      val some = ofNumbers.take(count).zipWithIndex.filter(isWhole || number == 0 || _._2 % 3 == number - 1)
      some.map { case ((text, needed), _) => text.replace("{}", name) -> needed }
    } ++ ofOthers

  /** Each with each; in `make test`, each with one of the others in turn. */
  private def inTurn[A, B](asked: Seq[A], of: Seq[B]): Seq[(A, B)] =
    for ((one, at) <- asked.zipWithIndex; (other, turn) <- of.zipWithIndex if isWhole || at % of.size == turn)
      yield (one, other)

  /** The numbers of the files that a query reads. It does not run. */
  private def read(frame: DataFrame): String =
    scanned(frame).map(_.stripPrefix("part-").take(5).toInt).sorted.mkString

  /** The numbers of the files with a row that passes, by no filter. */
  private def holding(asked: Seq[String]): Seq[String] = {
    val found = load(table, Map("snapshot" -> "off"))
      .selectExpr("CAST(id / 10 AS INT) AS file" +: asked.zipWithIndex.map { case (one, at) =>
        s"($one) AS c$at"
      }: _*)
      .collect()
    asked.indices.map { at =>
      found
        .filter(row => !row.isNullAt(at + 1) && row.getBoolean(at + 1))
        .map(_.getInt(0))
        .distinct
        .sorted
        .mkString
    }
  }

  test("only files that may have a matching row are read, and all that have one") {
    val asked = conditions.map(_._1)
    // Both scans share what translates filters: they are asked conditions in turn.
    for ((scan, turn) <- scans.zipWithIndex) {
      val some = conditions.zipWithIndex.collect { case (one, at) if isWhole || at % 2 == turn => one }
      val all = load(table, scan)
      assertEquals(some.map { case (one, _) => one -> read(all.where(one)) }, some)
    }
    for (((condition, needed), held) <- conditions.zip(holding(asked)))
      assert(held.forall(needed.contains(_)), s"$condition reads $needed, and rows are in $held")
  }

  test("conditions that are combined lose no file") {
    val parts = Seq("n = 5", "i > 15", "word LIKE 'ż%'", "inner.n IS NULL", "ratio >= 1.0D")
    val pairs = parts.permutations.map(_.take(2)).toSeq.distinct
    val forms = Seq[(String, String) => String](
      (one, other) => s"$one AND $other",
      (one, other) => s"$one OR NOT ($other)",
      (one, other) => s"NOT ($one AND $other)"
    )
    val asked = inTurn(pairs, forms).map { case (two, form) => form(two.head, two.last) }
    val all = load(table)
    for ((condition, held) <- asked.zip(holding(asked))) {
      val needed = read(all.where(condition))
      assert(held.forall(needed.contains(_)), s"$condition reads $needed, and rows are in $held")
    }
  }

  test("offsets of the time zone count where dates and times are compared") {
    // Clocks of this zone went back over midnight. The files hold days from 1969-12-22, 1970-01-01 and 1970-01-11.
    set(Map("spark.sql.session.timeZone" -> "America/St_Johns"))
    val twenties = (20L until 30L)
    for (
      ((condition, needed, found), scan) <- inTurn(
        Seq[(String, String, Seq[Long])](
          ("at = TIMESTAMP'1969-12-31 20:29:08'", "", Nil),
          ("CAST(at AS DATE) = DATE'1969-12-31'", "1", Seq(10)),
          ("CAST(at AS DATE) IN (DATE'1969-12-31')", "1", Seq(10)),
          ("CAST(at AS DATE) <=> DATE'1969-12-22'", "0", Seq(1)),
          ("CAST(at AS DATE) IN (DATE'1970-01-05', DATE'1970-01-10')", "12", twenties),
          ("day <= TIMESTAMP'1582-01-01 00:00:00'", "0", Seq(0)),
          ("wall = TIMESTAMP_NTZ'1970-01-11 00:00:00'", "2", twenties),
          ("wall < TIMESTAMP'1969-12-23 00:00:00'", "0", Seq(0))
        ),
        scans
      )
    ) {
      val frame = load(table, scan).where(condition)
      assertEquals(read(frame), needed, condition)
      assertEquals(ids(frame), found, condition)
      assertEquals(ids(load(table, Map("snapshot" -> "off")).where(condition)), found, condition)
    }
  }

  test("the case of names counts as in the session, and pushdown of filters can be off") {
    for ((name, sensitive) <- Seq("N" -> "false", "n" -> "true", "Inner.N" -> "false")) {
      set(Map("spark.sql.caseSensitive" -> sensitive))
      val found = load(table).where(s"$name = 5")
      assertEquals(idsAndFiles(found), (Seq(5L), 1), name)
    }
    set(Map("spark.sql.parquet.filterPushdown" -> "false"))
    val found = load(table).where("n = 5")
    assertEquals(idsAndFiles(found), (Seq(5L), 4))
  }

  test("other queries over the table lose no row") {
    val (own, plain) = (load(table), load(table, Map("snapshot" -> "off")))
    for (
      query <- Seq[DataFrame => DataFrame](
        _.withColumnRenamed("n", "m").withColumnRenamed("i", "n").where("m = 5 AND n = 5"),
        frame => frame.withColumn("n", frame("n") + 10).where("n = 15"),
        frame => frame.join(frame.where("n = 5").select("i"), "i").select("id"),
        _.where("n < 12").groupBy("word").count(),
        _.where("n = 20").orderBy("id").limit(3),
        _.where("_metadata.file_size > 0 AND n = 5")
      )
    ) {
      val expected = rows(query(plain))
      assert(expected.nonEmpty)
      assertEquals(rows(query(own)), expected)
    }
    spark.sql("SELECT 5L AS x").createOrReplaceTempView("wanted")
    own.createOrReplaceTempView("sealed_table")
    for (
      condition <- Seq(
        "n = (SELECT max(x) FROM wanted)",
        "n IN (SELECT x FROM wanted)",
        "EXISTS (SELECT 1 FROM wanted WHERE x = n)"
      )
    ) assertEquals(rows(spark.sql(s"SELECT id FROM sealed_table WHERE $condition")), Seq("[5]"), condition)
  }

  /** Both scans and both readers. */
  private val pairs = Seq(readers.head, readers.last)

  test("partitions are pruned, and their files skipped") {
    for (part <- 0 to 1)
      save(numbers(100 * part, 30, files = 3).selectExpr("id", s"$part AS part"), partitions = Seq("part"))
    seal(indexes = minMax("id"))
    val tables = pairs.map(load(target, _))
    for (
      ((condition, needed, found), table) <- inTurn(
        Seq(
          ("part = 0", 3, 30),
          ("part = 0", 3, 30),
          ("part = 0 AND id = 5", 1, 1),
          ("part = 1 AND id = 5", 0, 0),
          ("id = 105", 1, 1),
          ("part = 0 OR id = 105", 6, 31),
          ("part = 0 AND (part = 1 OR id = 105)", 0, 0)
        ),
        tables
      )
    ) {
      val (ids, read) = idsAndFiles(table.where(condition))
      assertEquals((ids.size, read), (found, needed), condition)
    }
  }

  test("a partition column that files have too is that of the directory") {
    for (part <- 1 to 2)
      save(numbers(0, 10, files = 1).selectExpr("id", "100L AS part"), s"$target/part=$part")
    seal(indexes = minMax("id", "part"))
    val tables = pairs.map(how => Seq("auto", "off").map(one => load(target, how + ("snapshot" -> one))))
    for (
      (condition, both) <- inTurn(
        Seq("part = 1", "part = 1 OR id = 77", "part = 100", "part = 100 OR id = 3", "part < 2 AND id < 5"),
        tables
      )
    ) {
      val found = both.map(table => rows(table.where(condition)))
      assertEquals(found.head, found.last, condition)
    }
  }

  test("a file without the column is read") {
    save(numbers(0, 10, files = 1))
    save(numbers(10, 10, files = 1).selectExpr("id", "id AS n"))
    seal(indexes = minMax("id", "n"))
    for (
      (condition, needed, found) <- Seq[(String, Int, Seq[Long])](
        ("n IS NULL", 1, range(10)),
        ("n = 15", 2, Seq(15)),
        ("n = 5", 1, Nil),
        ("n > 15 OR id = 5", 2, 5L +: (16L until 20L)),
        ("n <=> NULL AND id = 5", 1, Seq(5)),
        ("coalesce(n, 7) = 7", 2, range(10))
      )
    ) {
      val asked = load(target, Map("mergeSchema" -> "true")).where(condition)
      assertEquals(idsAndFiles(asked), (found, needed), condition)
    }
  }

  test("a column that was added with a default has it in older files") {
    setOptions(footer)
    set(Map("spark.sql.defaultColumn.allowedProviders" -> "pme-parquet"))
    spark.sql(s"CREATE TABLE grown (id BIGINT) USING `pme-parquet` LOCATION '$target'")
    spark.sql("INSERT INTO grown VALUES (1), (2)")
    spark.sql("ALTER TABLE grown ADD COLUMNS (n BIGINT DEFAULT 7)")
    spark.sql("INSERT INTO grown VALUES (3, 30), (4, NULL)")
    val asked = Seq("n = 7", "n IS NULL", "n <> 30", "n < 10", "n = 30")
    def found = asked.map(condition => ids(spark.table("grown").where(condition)))
    val plain = found
    assertEquals(plain, Seq(Seq(1L, 2L), Seq(4L), Seq(1L, 2L), Seq(1L, 2L), Seq(3L)))
    seal(indexes = minMax("id", "n"))
    spark.catalog.refreshTable("grown")
    assertEquals(found, plain)
  }

  test("a column whose type differs between files, or is wider in the reader, loses no row".tag(Newest)) {
    assumeSpark4()
    save(numbers(0, 10, files = 1).selectExpr("id", "CAST(id AS INT) AS n", "CAST(id AS FLOAT) AS x"))
    save(numbers(10, 10, files = 1).selectExpr("id", "id + 5000000000 AS n", "CAST(id AS DOUBLE) AS x"))
    seal(indexes = minMax("id", "n", "x"))
    val tables = pairs.map(how => reader(kms ++ how).schema("id bigint, n bigint, x double").load(target))
    for (
      ((condition, found), table) <- inTurn(
        Seq[(String, Seq[Long])](
          "n = 5" -> Seq(5),
          "n < 5000000015" -> range(15),
          "n = 5000000015" -> Seq(15),
          "n > 2147483647" -> (10L until 20L),
          "n <> 5" -> range(20).filter(_ != 5),
          "n IN (5, 5000000015)" -> Seq(5, 15),
          "x = 5.0D" -> Seq(5),
          "x >= 15.0D" -> (15L until 20L),
          "id = 15 AND n > 10" -> Seq(15)
        ),
        tables
      )
    ) assertEquals(ids(table.where(condition)), found, condition)
    val other = s"$target-other"
    val narrow =
      Seq("id", "CAST(id AS INT) AS n", "CAST(id AS DECIMAL(5, 1)) AS amount", "CAST(id AS TINYINT) AS tiny")
    sealedTable(numbers().selectExpr(narrow: _*), other, indexes = minMax("id", "n", "amount", "tiny"))
    val wide = reader(kms).schema("id bigint, n bigint, amount decimal(20, 4), tiny int").load(other)
    for (
      (condition, found) <- Seq[(String, Seq[Long])](
        "n < 5000000000" -> range(20),
        "n <> 5000000005" -> range(20),
        "n > -5000000000" -> range(20),
        "n = 5000000005" -> Nil,
        "amount = 5.0" -> Seq(5),
        "amount < 5.05" -> range(6),
        "amount <> 5.05" -> range(20),
        "tiny < 300" -> range(20),
        "tiny = 261" -> Nil
      )
    ) assertEquals(ids(wide.where(condition)), found, condition)
  }

  test("dates and times in the old calendar are found, and days that it left out are compared as others") {
    val old = Seq("id", "DATE'1500-01-01' AS day", "TIMESTAMP'1500-01-01 00:00:00' AS at")
    for ((mode, number) <- Seq("LEGACY", "CORRECTED").zipWithIndex) {
      set(calendar)
      set(Seq("datetime", "int96").map(kind => s"spark.sql.parquet.${kind}RebaseModeInWrite" -> mode).toMap)
      save(numbers(number.toLong, 1, files = 1).selectExpr(old: _*))
    }
    seal(indexes = minMax("day", "at"))
    val tables = pairs.map(load(target, _))
    for (
      condition <- Seq(
        "day = DATE'1500-01-01'",
        "at = TIMESTAMP'1500-01-01 00:00:00'",
        "day < DATE'1500-01-02'",
        "day >= DATE'1500-01-01'"
      );
      table <- tables
    ) assertEquals(ids(table.where(condition)), Seq(0L, 1L), condition)
    set(calendar)
    val left = s"$target-left"
    val days = Seq(
      "id",
      "IF(id = 0, DATE'1582-10-10', DATE'1582-10-17') AS day",
      "timestamp_seconds(IF(id = 0, 0, 7) - 12219897600) AS at"
    )
    sealedTable(numbers(0, 2).selectExpr(days: _*), left, indexes = minMax("day", "at"))
    for (
      (condition, needed) <- Seq(
        "day = DATE'1582-10-10'" -> "0",
        "day > DATE'1582-10-10'" -> "1",
        "at = TIMESTAMP'1582-10-08 00:00:00'" -> "0",
        "at <= TIMESTAMP'1582-10-08 00:00:00'" -> "0"
      )
    ) assertEquals(read(load(left).where(condition)), needed, condition)
  }

  test("dates of an unknown writer are found in the calendar that the reader names") {
    val schema =
      MessageTypeParser.parseMessageType("message m { required int64 id; required int32 day (DATE); }")
    val path = new HadoopPath(s"file:$target/a.parquet")
    val writer =
      ExampleParquetWriter.builder(path).withConf(new Configuration(false)).withType(schema).build()
    val groups = new SimpleGroupFactory(schema)
    for ((id, day) <- Seq(1L -> -200000, 2L -> -150000))
      writer.write(groups.newGroup().append("id", id).append("day", day))
    writer.close()
    val allowed = Map("plaintextFiles" -> "allow")
    seal(options = footer ++ allowed, indexes = minMax("day"))
    for (mode <- Seq("LEGACY", "CORRECTED")) {
      val how = allowed + ("datetimeRebaseMode" -> mode)
      val plain = load(target, how + ("snapshot" -> "off"))
      val days = plain.selectExpr("CAST(day AS STRING)").collect().map(_.getString(0)).toSeq
      assertEquals(days.size, 2)
      for (day <- days; by <- Seq("=", "<=", ">=")) {
        val condition = s"day $by DATE'$day'"
        val expected = ids(plain.where(condition))
        assert(expected.nonEmpty, condition)
        assertEquals(ids(load(target, how).where(condition)), expected, condition)
      }
    }
  }

  test("strings with a collation lose no row".tag(Newest)) {
    assumeSpark4()
    val word = "concat(IF(id < 10, 'a', 'B'), id)"
    val collated = s"CAST($word AS STRING COLLATE UTF8_LCASE) AS word"
    save(numbers().selectExpr("id", collated, "concat('A', id) AS plain", s"$word AS other"))
    seal(indexes = minMax("id", "word", "plain", "other"))
    val tables = pairs.map(load(target, _))
    for (
      ((condition, found), table) <- inTurn(
        Seq[(String, Seq[Long])](
          "word = 'A5'" -> Seq(5),
          "word = 'b15'" -> Seq(15),
          "word IN ('A1', 'b11')" -> Seq(1, 11),
          "word > 'b'" -> (10L until 20L),
          "word < 'B'" -> range(10),
          "word <> 'A5'" -> range(20).filter(_ != 5),
          "word LIKE 'A%'" -> range(10),
          "startswith(word, 'b')" -> (10L until 20L),
          "plain COLLATE UTF8_LCASE = 'a5'" -> Seq(5),
          "word = 'A5' AND id = 5" -> Seq(5),
          "word <=> 'B12'" -> Seq(12),
          "NOT (word = 'A5' OR word = 'b15')" -> range(20).filterNot(Set(5L, 15L))
        ),
        tables
      )
    ) assertEquals(ids(table.where(condition)), found, condition)
    // An ordinary string, which the reader reads with a collation.
    val schema = "id bigint, other string collate UTF8_LCASE"
    val frame = reader(kms).schema(schema).load(target)
    assertEquals(ids(frame.where("other = 'A5'")), Seq(5L))
    assertEquals(ids(frame.where("other = 'b15'")), Seq(15L))
  }

  test("an index is that of its column, whatever the column is called") {
    val names = Seq("full name", "a;b", "x (STRING)", "y = 1", "{z}", "a,b", "żółw", "binary", "a.b c", "c d")
    val structs = Seq("named_struct('n (n)', id) AS `s t`", "named_struct('b', id) AS a", "id + 100 AS `a.b`")
    save(numbers(0, 40, 4).selectExpr("id" +: names.map(name => s"id AS `$name`") ++: structs: _*))
    val quoted = names.map(name => s"`$name`") :+ "`s t`.`n (n)`"
    seal(indexes = minMax(("full name" +: quoted.tail) ++ Seq("a.b", "`a.b`"): _*))
    val table = load()
    for (condition <- (quoted :+ "a.b").map(column => s"$column = 5") :+ "`a.b` = 105")
      assertEquals(idsAndFiles(table.where(condition)), (Seq(5L), 1), condition)
    for (none <- Seq("a.b = 105", "`a.b` = 5")) assertEquals(ids(table.where(none)), Nil, none)
  }

  test("a column that is found by its id is not mistaken for one of its name") {
    def numbered(fields: (String, Long)*) = fields.foldLeft(new StructType) { case (made, (name, number)) =>
      made.add(
        name,
        LongType,
        nullable = true,
        new MetadataBuilder().putLong("parquet.field.id", number).build()
      )
    }
    set(Seq("write", "read").map(way => s"spark.sql.parquet.fieldId.$way.enabled" -> "true").toMap)
    val values = spark.range(1, 3, 1, 1).selectExpr("id", "id * 100 AS n")
    save(spark.createDataFrame(values.rdd, numbered("id" -> 1, "n" -> 2)))
    seal(indexes = minMax("id", "n"))
    val swapped = reader(kms).schema(numbered("n" -> 1, "id" -> 2)).load(target)
    assertEquals(rows(swapped.where("n < 50").select("n")), Seq("[1]", "[2]"))
    assertEquals(ids(swapped.where("id > 50")), Seq(100L, 200L))
  }

  // Readers without some keys.

  private def denying(keys: String*): Options =
    HolderKms.options(Seq("footer", "pay", "stats").diff(keys): _*)
  private val masking = Map("deniedColumns" -> "null", "deniedPredicates" -> "null", "reader" -> "pages")

  private def saveSalaries(indexKeys: Options = Map.empty): Unit = {
    val keys = denying() ++ Map("footerKey" -> "footer", "columnKeys" -> "pay: salary")
    save(numbers().selectExpr("id", "id AS salary", "id AS age"), options = keys)
    seal(options = denying() ++ indexKeys, indexes = minMax("salary", "id", "age"))
    ()
  }

  test("a reader without the key of an index skips by the others") {
    saveSalaries()
    for (scan <- scans) {
      def read(keys: String*) = load(target, denying(keys: _*) ++ masking ++ scan)
      assertEquals(filesRead(read().where("salary = 5").select("id")), 1)
      val denied = read("pay")
      assertEquals(ids(denied), range(20))
      assertEquals(ids(denied.where("salary IS NULL")), range(20))
      assertEquals(ids(denied.where("salary = 5")), Nil)
      assertEquals(ids(denied.where("salary = 5 OR id = 15")), Seq(15L))
      assertEquals(ids(denied.where("salary IS NULL AND id = 15")), Seq(15L))
      assertEquals(filesRead(denied.where("id = 15").select("id")), 1)
      assertEquals(filesRead(denied.where("salary IS NULL AND age = 15").select("id")), 1)
    }
    // A denied column that no query reads does not matter.
    val other = load(target, denying("pay") + ("reader" -> "pages")).select("id")
    assertEquals(ids(other.where("id < 15")), range(15))
    assertEquals(filesRead(other.where("id = 15")), 1)
  }

  test("an index that a reader may read says nothing of a column that it may not") {
    saveSalaries(Map("indexKeys" -> "stats: salary, id"))
    for (scan <- scans) {
      val denied = load(target, denying("pay") ++ masking ++ scan)
      assertEquals(ids(denied.where("salary IS NULL")), range(20))
      assertEquals(ids(denied.where("salary <=> NULL AND id < 30")), range(20))
      val allowed = load(target, denying() ++ scan)
      assertEquals(filesRead(allowed.where("salary = 5").select("id")), 1)
      // It may skip by a column that it may not read, as long as it reads no file.
      val blind = load(target, denying("pay") ++ scan)
      assertEquals(ids(blind.where("salary = 77")), Nil)
      refused(KeyDenied, "pay")(ids(blind.where("salary = 5")))
    }
  }

  // Which versions have an index.

  test("indexes are kept, and only new files are opened") {
    val frame = numbers().selectExpr("id", "id AS n")
    save(frame)
    def opened(indexes: String*) =
      seal(indexes = if (indexes.isEmpty) None else minMax(indexes: _*)).opened
    def needed(condition: String) = filesRead(load().where(condition))
    assertEquals(opened("id"), 2L)
    plant(numbers(20, 10, files = 1).selectExpr("id", "id AS n"))
    val again = seal()
    assertEquals((again.version, again.files, again.opened), (2L, 3L, 1L))
    assertEquals((needed("id = 25"), needed("id = 5")), (1, 1))
    assertEquals(opened(), 0L)
    assertEquals(needed("n = 5"), 3)
    assertEquals(opened("n", "id"), 3L)
    assertEquals(needed("n = 5"), 1)
    assertEquals(opened("id", "n"), 0L)
    assertEquals(seal(indexes = minMax()).opened, 0L)
    assertEquals(needed("n = 5"), 3)
    assertEquals(opened(), 0L)
    assertEquals(needed("n = 5"), 3)
  }

  test("an older version has its own index, and that of a table without rows is kept") {
    save(numbers())
    seal()
    seal(indexes = minMax("id"))
    for ((version, needed) <- Seq("1" -> 2, "2" -> 1))
      assertEquals(filesRead(load(target, Map("snapshot" -> version)).where("id = 5")), needed)
    val empty = s"$target-empty"
    save(numbers(0, 0, files = 1), empty)
    seal(empty, indexes = minMax("id"))
    plant(numbers(), empty)
    seal(empty)
    assert(filesRead(load(empty).where("id = 5")) <= 2)
  }

  test("a column that the table lacks has no index, and a repeated one is not used") {
    save(numbers().selectExpr("id", "named_struct('n', id) AS inner", "array(id, NULL) AS many"))
    for (column <- Seq("none", "inner")) refused(UnknownColumn, column)(seal(indexes = minMax(column)))
    assertEquals(versions(), Nil)
    seal(indexes = minMax("id", "inner.n", "many.list.element"))
    assertEquals(ids(load().where("many[0] = 5")), Seq(5L))
    assertEquals(ids(load().where("array_contains(many, 5L)")), Seq(5L))
  }

  test("a file that is skipped is missed all the same") {
    sealedTable(numbers(), indexes = minMax("id"))
    delete(files().last)
    for (scan <- scans) refused(SnapshotMismatch, "it is missing")(ids(load(target, scan).where("id = 5")))
  }
}
