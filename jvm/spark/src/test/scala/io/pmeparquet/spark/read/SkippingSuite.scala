package io.pmeparquet.spark.read

import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.PairSuite

/**
 * Row groups, pages and rows that a scan skips, by encrypted statistics, page indexes, dictionaries and Bloom filters,
 * and what a scan counts. `jvm/parquet` counts the modules of one file in SplitReaderSuite.
 */
class SkippingSuite extends PairSuite {
  private val total = 5000
  private val smallPages = "parquet.page.row.count.limit" -> "100"
  private val noDictionary = "parquet.enable.dictionary" -> "false"
  private val bloom = Seq("parquet.bloom.filter.enabled#name" -> "true", noDictionary)
  private val absent = "name = 'name-5-not-there'"

  private def numbers: DataFrame =
    spark.range(0, total, 1, 1).selectExpr("id", "concat('name-', sha2(CAST(id AS STRING), 256)) AS name")

  /** Every page of `scattered` spans all of its values, so no index excludes one. */
  private def scattered(value: String): DataFrame =
    spark
      .range(0, 1000, 1, 1)
      .selectExpr(
        Seq("id", s"$value AS scattered") ++ (0 until 8).map(number => s"id * $number AS other_$number"): _*
      )

  test("the page index skips pages, statistics a row group, and what is found is read") {
    Seq(ours, theirs).foreach(_.write(numbers, smallPages))
    for (scan <- Seq("v1", "v2")) {
      def job(source: Source) = source.read("scan" -> scan).where("id IN (17, 4321)").select("id")
      assertEquals(same(job), Seq("[17]", "[4321]"))
      // With no column except the filter's there is nothing to read later, and pages are read whole.
      assertEquals(rowsScanned(job(ours)), 200L)
      assertEquals(rowsScanned(ours.read("scan" -> scan).where(s"id > $total")), 0L)
    }
  }

  test("a Bloom filter skips a row group without the value, and none with it") {
    Seq(ours, theirs).foreach(_.write(numbers, bloom: _*))
    val present = numbers.where("id = 1234").select("name").collect()(0).getString(0)
    for (scan <- Seq("v1", "v2")) {
      assertEquals(rowsScanned(ours.read("scan" -> scan).where(absent)), 0L)
      assertEquals(same(_.read("scan" -> scan).where(s"name = '$present'")).size, 1)
    }
    ours.writer(numbers, noDictionary).mode("overwrite").save(ours.path)
    assert(rowsScanned(ours.read().where(absent).select("name")) > 0, "without the filter it is read")
  }

  test("a dictionary skips a row group") {
    ours.write(spark.range(0, total, 1, 1).selectExpr("id", "concat('v', 2 * (id % 9)) AS v"))
    assertEquals(rowsScanned(ours.read().where("v = 'v15'")), 0L)
    assert(rowsScanned(ours.read().where("v = 'v14'")) > 0)
  }

  test("a Bloom filter of a plaintext column, in a file that is read with its tail, finds present values") {
    val encrypted = Seq("columnKeys" -> "pii: id", "unlistedColumns" -> "plaintext")
    val frame = spark.range(0, 100, 1, 1).selectExpr("id", "concat('name-', id) AS name")
    ours.write(frame, bloom ++ encrypted :+ ("parquet.bloom.filter.max.bytes" -> "256"): _*)
    assertEquals(ours.read().where("name = 'name-7'").count(), 1L)
    assertEquals(rowsScanned(ours.read().where("name = 'name-700'")), 0L)
  }

  for (dictionary <- Seq("true", "false"))
    test(s"zeros of either sign are found: dictionary=$dictionary") {
      val frame = spark.range(0, 10, 1, 1).selectExpr("id", "IF(id < 5, -0.0D, 3.0D) AS number")
      ours.write(
        frame,
        "parquet.bloom.filter.enabled#number" -> "true",
        "parquet.enable.dictionary" -> dictionary
      )
      for (zero <- Seq("0.0D", "-0.0D"))
        for (
          condition <- Seq(s"number = $zero", s"number IN ($zero, 7.0D)", s"number >= $zero AND number < 1")
        )
          assertEquals(ours.read().where(condition).count(), 5L, condition)
    }

  test("other columns are decoded only for matching rows") {
    Seq(ours, theirs).foreach(_.write(scattered("pmod(id * 321, 1000) * 2"), smallPages))
    val conditions =
      Seq(
        "scattered = 642" -> 1L,
        "scattered IN (642, 644)" -> 2L,
        "CAST(scattered AS STRING) LIKE '%642'" -> 2L
      )
    for (scan <- Seq("v1", "v2"); (condition, matches) <- conditions) {
      def job(source: Source) = source.read("scan" -> scan).where(condition)
      assertEquals(same(job).size.toLong, matches)
      assertEquals(rowsScanned(job(ours)), matches, condition)
    }
  }

  test("a filter that matches rows in most pages, or reads most columns, is left to Spark") {
    ours.write(scattered("pmod(id, 50)"), smallPages)
    val most = ours.read().where("scattered = 7")
    assertEquals(rowsScanned(most), 1000L)
    assertEquals(most.count(), 20L)
    ours.writer(numbers.selectExpr("*", "id * 3 AS third"), smallPages).mode("overwrite").save(ours.path)
    val found = ours.read().where("id % 1000 = 7 AND name IS NOT NULL AND name > 'a'")
    assertEquals(rowsScanned(found), total.toLong)
    assertEquals(found.count(), 5L)
  }

  test("the same scan is planned once") {
    set(Map("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.enabled" -> "false"))
    Seq(ours, theirs).foreach(_.write(residents()))
    def job(source: Source) = {
      def counts = source.read().where("name LIKE 'name-1%'").groupBy("id").count()
      counts.join(counts.withColumnRenamed("count", "again"), "id")
    }
    assert(same(job).nonEmpty)
    val (found, expected) = both(source => plan(job(source)).split("ReusedExchange").length)
    assert(expected > 1)
    assertEquals(found, expected)
  }

  test("Spark's reader of single rows uses no column index") {
    // With the index, parquet-java can return a value of another page.
    ours.write(spark.range(0, 2000, 1, 1).toDF(), smallPages)
    for (scan <- Seq("v1", "v2")) {
      def found(vectorized: Boolean) = {
        set(Map("spark.sql.parquet.enableVectorizedReader" -> vectorized.toString))
        ours.read("reader" -> "spark", "scan" -> scan).where("id = 1050")
      }
      assertEquals(rows(found(vectorized = false)), Seq("[1050]"))
      assertEquals(rowsScanned(found(vectorized = false)), 2000L)
      assertEquals(rows(found(vectorized = true)), Seq("[1050]"))
      assert(rowsScanned(found(vectorized = true)) < 2000)
    }
  }

  private val filesOfTable = 3

  private def counted(schema: String, query: DataFrame => DataFrame): Map[String, Long] =
    // A schema of the reader: inference would open a footer and keep it.
    metrics(query(ours.reader("scan" -> "v2", "reader" -> "pages").schema(schema).load(ours.path)))

  test(
    "a V2 scan counts its reads, bytes, modules, footers and keys, and decrypts no column that it does not read"
  ) {
    val columns = "id BIGINT, twice BIGINT, thrice BIGINT"
    val frame = spark.range(0, 3000, 1, filesOfTable).selectExpr("id", "id * 2 AS twice", "id * 3 AS thrice")
    ours.write(frame, noDictionary)
    val all = counted(columns, identity)
    // Files of less than 64 KiB are read with their tail. Each has a footer, and three columns of a page and its header.
    for (name <- Seq("pmeReads", "pmeFooters", "pmeKeys")) assertEquals(all(name), filesOfTable.toLong, name)
    assertEquals(all("pmeBytesRead"), files(ours.path).map(_.toFile.length).sum)
    assertEquals(all("pmeModules"), filesOfTable * (1L + 3 * 2))
    // The footers are known by now.
    assertEquals(counted(columns, _.select("twice"))("pmeModules"), filesOfTable * 2L)
  }

  test("pages of other columns without a matching row are not decrypted") {
    val frame = scattered("pmod(id * 321, 1000) * 2").drop("id")
    ours.write(frame, noDictionary, smallPages)
    val found = counted(frame.schema.toDDL, _.where("scattered = 642"))
    // The footer, a column index, nine offset indexes; ten pages of `scattered`, and the matching page of each column.
    assertEquals(found("pmeModules"), 1L + 1 + 9 + 2 * (10 + 9))
  }
}
