package io.pmeparquet.spark.write

import scala.util.control.NonFatal

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.PairSuite

/** Tables of the session catalog, made, filled and changed in SQL, by the writer and by `writeTo`, as Spark's own. */
class CatalogTablesSuite extends PairSuite {
  private val columns = "id BIGINT, name STRING, country STRING"

  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    // A table of the catalog may not name the KMS.
    setOptions(kms)
    residents().select("id", "name", "country").createOrReplaceTempView("residents")
  }

  /** The table after some statements, in which `{table}`, `{using}` and `{path}` are those of the source. */
  private def after(statements: Seq[String])(source: Source): DataFrame = {
    for (statement <- statements)
      spark.sql(
        statement
          .replace("{table}", source.table)
          .replace("{using}", source.clause())
          .replace("{path}", source.path)
      )
    spark.table(source.table)
  }

  private val filled =
    Seq(s"CREATE TABLE {table} ($columns) {using}", "INSERT INTO {table} SELECT * FROM residents")

  private val jobs: Seq[(String, Int, Source => DataFrame)] = Seq(
    ("rows are inserted", 21, after(filled :+ "INSERT INTO {table} VALUES (77, 'späti', NULL)")),
    (
      "all rows are replaced",
      4,
      after(filled :+ "INSERT OVERWRITE {table} SELECT * FROM residents WHERE id < 4")
    ),
    (
      "one partition is filled, another one replaced and a third one dropped",
      7 + 20 + 1,
      after(
        Seq(
          s"CREATE TABLE {table} ($columns) {using} PARTITIONED BY (country)",
          "INSERT INTO {table} SELECT * FROM residents",
          "INSERT INTO {table} PARTITION (country = 'de') SELECT id + 50, name FROM residents",
          "INSERT OVERWRITE {table} PARTITION (country = 'it') VALUES (1000, 'only')",
          "ALTER TABLE {table} DROP PARTITION (country = 'fr')"
        )
      )
    ),
    (
      "the writer makes, replaces and appends to a table",
      7,
      source => {
        val frame = spark.table("residents")
        source.writer(frame).saveAsTable(source.table)
        source.writer(frame.where("id < 3")).mode("overwrite").saveAsTable(source.table)
        source.writer(frame.where("id < 4")).mode("append").saveAsTable(source.table)
        spark.table(source.table)
      }
    ),
    (
      "insertInto needs no option that the table has",
      41,
      source => {
        source.writer(spark.table("residents")).saveAsTable(source.table)
        spark.table("residents").write.insertInto(source.table)
        spark.table("residents").where("id = 1").write.mode("append").insertInto(source.table)
        spark.table(source.table)
      }
    ),
    (
      "columns added to a table are null in older files",
      21,
      after(
        filled ++ Seq(
          "ALTER TABLE {table} ADD COLUMNS (extra INT)",
          "INSERT INTO {table} VALUES (5, 'five', 'de', 55)"
        )
      )
    ),
    (
      "CHAR is padded",
      1,
      after(
        Seq(
          "CREATE TABLE {table} (id INT, c CHAR(5), v VARCHAR(5)) {using}",
          "INSERT INTO {table} VALUES (1, 'ab', 'cd')"
        )
      )(_).where("c = 'ab'")
    ),
    (
      "MSCK REPAIR TABLE finds partitions that were written by path",
      20,
      source => {
        source.writer(spark.table("residents")).partitionBy("country").save(source.path)
        after(
          Seq(
            s"CREATE TABLE {table} ($columns) {using} PARTITIONED BY (country) LOCATION '{path}'",
            "MSCK REPAIR TABLE {table}"
          )
        )(source)
      }
    ),
    (
      "a table is analyzed and truncated",
      0,
      after(
        filled ++ Seq("ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS", "TRUNCATE TABLE {table}")
      )
    ),
    (
      "writeTo makes a table",
      20,
      source => {
        v2(residents(), source).create()
        spark.table(source.table)
      }
    ),
    (
      "writeTo makes a partitioned table",
      20,
      source => {
        v2(residents(), source).partitionedBy(col("country")).create()
        spark.table(source.table)
      }
    )
  )

  private def v2(frame: DataFrame, source: Source) =
    frame.writeTo(source.table).using(source.format).options(source.options)

  for ((what, count, job) <- jobs)
    test(what)(assertEquals(same(job).size, count))

  test("a table with a location has the rows of the files there, and new ones are encrypted") {
    def job(source: Source) = {
      source.write(spark.table("residents"))
      after(
        Seq(
          "CREATE TABLE {table} {using} LOCATION '{path}'",
          "INSERT INTO {table} SELECT id + 100, name, country FROM residents"
        )
      )(source)
    }
    assertEquals(same(job).size, 40)
    assertEncrypted()
  }

  test("a table is created as a query's result, at a location and in partitions") {
    val create =
      "CREATE TABLE {table} {using} PARTITIONED BY (country) LOCATION '{path}' AS SELECT * FROM residents"
    assertEquals(same(after(Seq(create))).size, 20)
    assertEncrypted()
  }

  test("INSERT OVERWRITE DIRECTORY replaces the contents") {
    def job(source: Source) = {
      source.write(spark.table("residents"))
      spark.sql(
        s"INSERT OVERWRITE DIRECTORY '${source.path}' ${source.clause()} SELECT * FROM residents WHERE id < 6"
      )
      source.read()
    }
    assertEquals(same(job).size, 6)
    assertEncrypted()
  }

  test("writeTo appends, replaces and refuses what it does for a table of Spark's own") {
    val results = for (source <- Seq(ours, theirs)) yield {
      v2(residents(), source).create()
      val frame = residents(20, 5)
      val actions = Seq[() => Unit](
        () => frame.writeTo(source.table).append(),
        () => frame.writeTo(source.table).overwritePartitions(),
        () => v2(frame, source).replace(),
        () => v2(frame, source).createOrReplace()
      )
      actions.map { action =>
        try { action(); "done" }
        catch { case NonFatal(failed) => conditionOf(failed) }
      }
    }
    assertEquals(results.head, results.last)
    assertEquals(rows(spark.table(ours.table)), rows(spark.table(theirs.table)))
  }

  for (
    (name, keyed) <- Seq("parquet" -> Map("uniformKey" -> "footer"), "orc" -> Map("columnKeys" -> "pii: id"))
  )
    test(s"a table may have either of the format's names: pme-$name, pme_$name") {
      val (dashes, underscores) = (s"pme-$name", s"pme_$name")
      def writer(format: String) = spark.range(3).write.format(format).options(keyed)
      writer(dashes).saveAsTable("named")
      writer(underscores).mode("append").saveAsTable("named")
      writer(dashes).mode("append").saveAsTable("named")
      assertEquals(spark.table("named").count(), 9L)
      val statement = spark.sql("SHOW CREATE TABLE named").collect()(0).getString(0)
      for (made <- Seq(statement, statement.replace(s"`$dashes`", underscores))) {
        spark.sql("DROP TABLE named")
        spark.sql(made)
      }
      assert(statement.contains(s"`$dashes`"), statement)
      spark.sql("INSERT INTO named VALUES (7)")
      assertEquals(rows(spark.table("named")), Seq("[7]"))
      writer(underscores).save(target)
      for (format <- Seq(dashes, underscores))
        assertEquals(spark.read.format(format).load(target).count(), 3L)
      assertEquals(spark.sql(s"SELECT * FROM $underscores.`$target`").count(), 3L)
    }
}
