package io.pmeparquet.spark.read

import scala.collection.mutable

import org.apache.spark.sql.types.{IntegerType, MetadataBuilder, StringType, StructType}
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.keys.KeyGuard
import io.pmeparquet.spark.PairSuite
import io.pmeparquet.Condition.KeyDenied

/**
 * Where a struct is NULL is found without the key of a column that the query does not select. What a reader sees to whom
 * a key is denied is compared with what Spark's own source reads of the same rows.
 */
class StructNullsSuite extends PairSuite {
  // In each struct, the smallest column is denied: Spark would choose it.
  private val encrypted =
    "columnKeys" -> "pii: s.a, s.inner.c, l.element.a, m.value.a, closed.a, closed.z"

  // Queries, some with a schema of the reader.
  private val queries: Seq[(Option[String], Seq[String])] = Seq(
    Some("id BIGINT, s STRUCT<later: STRING>") -> Seq("id", "s"),
    None -> Seq("id", "s IS NULL"),
    None -> Seq("count(s)", "count(l)", "count(m)", "count(*)"),
    Some("id BIGINT, l ARRAY<STRUCT<later: INT>>") -> Seq("id", "l"),
    Some("id BIGINT, m MAP<STRING, STRUCT<later: INT>>") -> Seq("id", "m"),
    Some("id BIGINT, s STRUCT<inner: STRUCT<later: INT>>") -> Seq("id", "s"),
    Some(
      "id BIGINT, s STRUCT<later: INT, inner: STRUCT<later: INT>>, m MAP<STRING, STRUCT<n: INT>>"
    ) -> Seq("*"),
    Some("id BIGINT, s STRUCT<b: STRING, later: INT>") -> Seq("id", "s"),
    None -> Seq("id", "l IS NULL", "m IS NOT NULL", "s IS NULL"),
    None -> Seq("id", "s.inner IS NULL"),
    None -> Seq("id", "s.inner IS NULL", "s.b"),
    None -> Seq("count(s.inner)", "max(s.b)"),
    None -> Seq("id", "s IS NULL", "s.inner IS NULL"),
    None -> Seq("id % 3 AS g", "s IS NULL AS n")
  )
  private val filters =
    Seq("s IS NULL", "s IS NOT NULL AND id > 2", "l IS NULL OR m IS NULL", "s.inner IS NULL AND id > 1")

  /** Structs that are NULL, whose fields are all NULL, and others. */
  private def frame: DataFrame = spark
    .range(0, 12, 1, 2)
    .selectExpr(
      "id",
      "CASE id % 4 WHEN 0 THEN NULL WHEN 1 THEN named_struct('a', CAST(NULL AS boolean), 'b', CAST(NULL AS string), " +
        "'inner', CAST(NULL AS struct<c: boolean, d: string>)) WHEN 2 THEN named_struct('a', true, 'b', NULL, 'inner', " +
        "named_struct('c', CAST(NULL AS boolean), 'd', CAST(NULL AS string))) ELSE named_struct('a', NULL, 'b', 'b', " +
        "'inner', named_struct('c', true, 'd', 'd')) END AS s",
      "CASE id % 5 WHEN 0 THEN NULL WHEN 1 THEN array() WHEN 2 THEN array(NULL, named_struct('a', true, 'b', 'b')) " +
        "WHEN 3 THEN array(named_struct('a', CAST(NULL AS boolean), 'b', CAST(NULL AS string))) ELSE " +
        "array(named_struct('a', false, 'b', 'x'), NULL, named_struct('a', NULL, 'b', 'y')) END AS l",
      "CASE id % 3 WHEN 0 THEN NULL WHEN 1 THEN map('k', NULL, 'n', named_struct('a', CAST(NULL AS boolean), 'b', " +
        "CAST(NULL AS string))) ELSE map('k', named_struct('a', true, 'b', 'b')) END AS m",
      "IF(id % 2 = 0, NULL, named_struct('a', true, 'z', 'z')) AS closed"
    )

  /** Where both tables are, which no test changes. */
  private lazy val written: Map[Source, String] = {
    ours.write(frame, encrypted)
    theirs.write(frame)
    Seq(ours, theirs).map(source => source -> source.path).toMap
  }

  private val denied = KeyGuard().deny("pii").options.toSeq :+ ("reader" -> "pages")

  /** The table as a reader sees it to whom `pii` is denied, and the same rows in plaintext. */
  private def tables(schema: Option[String], more: (String, String)*): (DataFrame, DataFrame) = both {
    source =>
      val reader = if (source == ours) source.reader(denied ++ more: _*) else source.reader()
      schema.fold(reader)(reader.schema).load(written(source))
  }

  /** What Spark's own source reads: no scan and no mask changes it. */
  private val known = mutable.Map.empty[(Option[String], Seq[String]), Seq[String]]

  private def sameOf(tables: (DataFrame, DataFrame))(query: DataFrame => DataFrame): Unit =
    assertEquals(rows(query(tables._1)), rows(query(tables._2)))

  // Rows with masks are read as others are, and masks must not reach where a struct is NULL. In `make test`, there are
  // three of these tests, and each query is in two of them.
  for (
    ((scan, vectorized, masks), number) <- Seq(
      ("v1", "true", "error"),
      ("v2", "false", "null"),
      ("v1", "true", "null"),
      ("v2", "true", "error"),
      ("v1", "false", "error"),
      ("v2", "false", "error"),
      ("v2", "true", "null")
    ).take(if (isWhole) 7 else 2).zipWithIndex
  )
    test(s"a query of no value of a struct needs no denied key: $scan, $vectorized, $masks") {
      set(Map("spark.sql.parquet.enableVectorizedReader" -> vectorized))
      def some[A](all: Seq[A]) = all.zipWithIndex.collect {
        case (one, at) if isWhole || number == 1 || at % 2 == number / 2 => one
      }
      def sameAsKnown(schema: Option[String], of: Seq[String])(query: DataFrame => DataFrame): Unit = {
        val (found, plain) = tables(schema, "scan" -> scan, "deniedColumns" -> masks)
        assertEquals(rows(query(found)), known.getOrElseUpdate(schema -> of, rows(query(plain))))
      }
      for ((schema, selected) <- some(queries))
        // Before Spark 4.1, its own reader of rows fails on a map of structs without a field in the file.
        if (spark.version >= "4.1" || vectorized == "true" || !schema.exists(_.contains("m MAP")))
          sameAsKnown(schema, selected)(_.selectExpr(selected: _*))
      for (condition <- some(filters)) sameAsKnown(None, Seq(condition))(_.where(condition).select("id"))
    }

  test("columns that the query does select are read as ever") {
    val pair = tables(None)
    sameOf(pair)(_.selectExpr("id", "s.b", "s IS NULL", "l.b", "m['k'].b", "s.inner.d"))
    sameOf(pair)(_.where("s IS NULL").select("s.b"))
    val found = pair._1
    for (selected <- Seq("s", "s IS NULL, s", "count(DISTINCT s)", "max(s)", "s.inner", "l", "m.k.a"))
      refused(KeyDenied, "pii")(found.selectExpr(selected.split(", ").toSeq: _*).collect())
    refused(KeyDenied, "pii")(found.where("s IS NULL").collect())
    refused(KeyDenied, "pii") {
      found.where("s IS NULL").select("id").join(found.select("id", "s"), "id").collect()
    }
  }

  test("a struct is reported if all its keys are denied, and a mask does not answer for it") {
    refused(KeyDenied, "'closed'", "is NULL", "pii")(tables(None)._1.selectExpr("closed IS NULL").collect())
    refused(KeyDenied, "condition") {
      tables(None, "deniedColumns" -> "null")._1.where("closed IS NULL").collect()
    }
  }

  test("with its key each column gives the same answer") {
    val pair = both(source => source.reader("reader" -> "pages").load(written(source)))
    for (selected <- Seq(Seq("id", "closed IS NULL"), Seq("count(closed)", "count(s)"), Seq("*")))
      sameOf(pair)(_.selectExpr(selected: _*))
    // A scan that reads one column of a struct does not replace another one of the same table.
    sameOf(pair) { table =>
      table.where("s IS NOT NULL").select("id").join(table.where("id >= 0").select("id", "s"), "id")
    }
    sameOf(pair) { table =>
      table.createOrReplaceTempView("structs")
      spark.sql(
        "SELECT id, s IS NULL AS n, NULL AS s FROM structs UNION ALL SELECT id, false, s FROM structs"
      )
    }
  }

  test("a denied column is null, and has not the default of a new column") {
    val path = s"$directory/words"
    ours.writer(spark.sql("SELECT 1 AS id, 'secret' AS word"), "columnKeys" -> "pii: word").save(path)
    ours.writer(spark.sql("SELECT 2 AS id")).mode("append").save(path)
    val default =
      new MetadataBuilder().putString("CURRENT_DEFAULT", "'none'").putString("EXISTS_DEFAULT", "'none'")
    val schema =
      new StructType().add("id", IntegerType).add("word", StringType, nullable = true, default.build())
    for (scan <- Seq("v1", "v2")) {
      assertEquals(rows(ours.reader("scan" -> scan).schema(schema).load(path)), Seq("[1,secret]", "[2,none]"))
      val options = denied ++ Seq("scan" -> scan, "deniedColumns" -> "null")
      val masked = ours.reader(options: _*).schema(schema).load(path)
      assert(rows(masked).contains("[1,null]"), rows(masked))
      refused(KeyDenied, "condition")(masked.where("word = 'none'").collect())
    }
  }
}
