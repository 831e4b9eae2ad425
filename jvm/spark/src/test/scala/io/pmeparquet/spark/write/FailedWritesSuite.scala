package io.pmeparquet.spark.write

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition
import io.pmeparquet.Condition.{
  BadOption,
  KeyDenied,
  KeyNotFound,
  KmsUnavailable,
  NoKey,
  UnknownColumn,
  Unsupported
}

/** A failed write leaves the table as it was, and nothing of its own behind, whichever way it is written. */
class FailedWritesSuite extends SparkSuite {
  private val failures: Seq[(String, Map[String, String], Condition)] = Seq(
    ("no key", kms, NoKey),
    ("a missing key", kms + ("footerKey" -> "missing-1"), KeyNotFound),
    ("a missing column", keys + ("columnKeys" -> "pii: sssn"), UnknownColumn)
  )

  private val moreFailures: Seq[(String, Map[String, String], Condition)] = Seq(
    (
      "an unlisted column",
      keys ++ Map("columnKeys" -> "pii: ssn", "unlistedColumns" -> "error"),
      UnknownColumn
    ),
    ("a bad value", keys + ("algorithm" -> "AES_CBC"), BadOption),
    ("a denied key", kms + ("footerKey" -> "denied-1"), KeyDenied),
    ("a KMS that is down", kms + ("footerKey" -> "down-1"), KmsUnavailable)
  )

  private def warehouse = spark.conf.get("spark.sql.warehouse.dir").stripPrefix("file:")

  private def start(options: Map[String, String], partitions: String*): StreamingQuery = {
    if (!Files.exists(Paths.get(s"$target-in"))) people.write.parquet(s"$target-in")
    val stream =
      spark.readStream.schema(people.schema).parquet(s"$target-in").writeStream.format("pme-parquet")
    stream
      .options(options)
      .partitionBy(partitions: _*)
      .option("checkpointLocation", s"$target-c")
      .trigger(Trigger.AvailableNow())
      .start(target)
  }

  private def listed(options: Map[String, String]) =
    options.map { case (name, value) => s"'$name' '$value'" }.mkString(", ")

  private def writer(options: Map[String, String]) = people.write.format("pme-parquet").options(options)

  private val ways: Map[String, Map[String, String] => Any] = Map(
    "a path" -> (options => writer(options).save(target)),
    "a table" -> (options => writer(options).saveAsTable("t")),
    "buckets" -> (options => writer(options).bucketBy(2, "id").saveAsTable("t")),
    "CTAS" -> { options =>
      people.createOrReplaceTempView("source")
      spark.sql(s"CREATE TABLE t USING `pme-parquet` OPTIONS (${listed(options)}) AS SELECT * FROM source")
    },
    "INSERT" -> { options =>
      spark.sql(
        "CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` " +
          s"OPTIONS (${listed(options)})"
      )
      people.write.insertInto("t")
    },
    "writeTo" -> (options => people.writeTo("t").using("pme-parquet").options(options).create()),
    "a stream" -> (options => start(options).awaitTermination())
  )

  for (
    (way, run) <- ways;
    (fault, options, condition) <- if (way == "a table") failures ++ moreFailures else failures
  )
    test(s"a write without its keys is refused however it is written: $way, $fault") {
      setOptions(kms)
      refused(condition)(run(options))
      way match {
        case "a path" => assert(!Files.exists(Paths.get(target)))
        // The sink's own log of batches exists before Spark calls any format.
        case "a stream" => assertEquals(allFiles().filterNot(_.toString.contains("_spark_metadata")), Nil)
        case "INSERT" => assertEquals(allFiles(s"$warehouse/t"), Nil)
        case _ => assert(!Files.exists(Paths.get(warehouse, "t")) && !spark.catalog.tableExists("t"))
      }
    }

  for ((fault, options, condition) <- failures ++ moreFailures)
    test(s"the existing table stays: $fault") {
      write(people, keys)
      for (mode <- Seq("overwrite", "append"))
        untouched()(refused(condition)(writer(options).mode(mode).save(target)))
      val dynamic = writer(options).mode("overwrite").option("partitionOverwriteMode", "dynamic")
      writer(keys).partitionBy("id").save(s"$target-parts")
      untouched(s"$target-parts")(refused(condition)(dynamic.partitionBy("id").save(s"$target-parts")))
      assertEquals(rows(reader(kms).load(target)), rows(people))
    }

  test("an overwrite from a session that is not the active one is refused before anything is deleted") {
    write(people, keys)
    SparkSession.setActiveSession(spark.newSession())
    val wrong = writer(keys + ("columnKeys" -> "pii: absent")).mode("overwrite")
    untouched()(refused(UnknownColumn)(wrong.save(target)))
  }

  for (tasks <- Seq(1, 2))
    test(s"a job that fails halfway leaves no file: $tasks tasks") {
      val dying =
        people.repartition(tasks).selectExpr("ssn", "salary", "if(id = 20, raise_error('dead'), id) AS id")
      val failed = intercept[Exception](write(dying, keys))
      assert(
        Iterator
          .iterate[Throwable](failed)(_.getCause)
          .takeWhile(_ != null)
          .exists(_.getMessage.contains("dead"))
      )
      // Spark deletes `_temporary` while it still stops another task, and that task may create its file there.
      val left = allFiles().filterNot(tasks > 1 && _.toString.contains("_temporary"))
      assertEquals(left, Nil)
    }

  test("more pages than a file can number are refused with advice") {
    val pages = Map("parquet.page.row.count.limit" -> "1", "parquet.page.size.row.check.min" -> "1")
    refused(Unsupported, target, "part-00000", "pages per chunk", "parquet.page.size", "parquet.block.size") {
      write(spark.range(0, 40000, 1, 1).toDF(), kms ++ pages + ("footerKey" -> "footer"))
    }
  }

  test("what parquet-java refuses to write becomes our error") {
    def check(path: String, settings: (String, String)*) =
      refused(Unsupported, "part-0000", "parquet-java cannot write") {
        write(people, kms ++ settings + ("footerKey" -> "footer"), s"$directory/$path")
      }
    check("size", "parquet.page.size" -> "-1")
    check("filter", "parquet.bloom.filter.enabled#id" -> "true", "parquet.bloom.filter.fpp#id" -> "7")
  }

  // A wildcard that also covers a partition column: the column's values would be names of directories.
  private val wild = kms ++ Map("footerKey" -> "footer", "columnKeys" -> "pii: *_pii")

  private def residents =
    people.selectExpr("id", "ssn AS ssn_pii", "concat('city-', id % 2) AS city_pii", "id % 3 AS land")

  private def parted(options: Map[String, String], partitions: String*) =
    residents.write.format("pme-parquet").options(options).partitionBy(partitions: _*)

  private def refusedWildcard(block: => Any): Unit =
    untouched(directory.toString)(refused(Unsupported, "columnKeys", "*_pii", "city_pii")(block))

  test("a wildcard that covers a partition column is refused in every mode, and existing data stays") {
    parted(kms + ("footerKey" -> "footer"), "city_pii").save(s"$target-old")
    for (mode <- Seq("errorifexists", "append", "overwrite", "ignore")) {
      refusedWildcard(parted(wild, "city_pii").mode(mode).save(target))
      refusedWildcard(parted(wild, "land", "city_pii").mode(mode).save(target))
      if (mode == "append" || mode == "overwrite")
        refusedWildcard(parted(wild, "city_pii").mode(mode).save(s"$target-old"))
    }
    val dynamic = wild + ("partitionOverwriteMode" -> "dynamic")
    refusedWildcard(parted(dynamic, "city_pii").mode("overwrite").save(s"$target-old"))
    refused(Unsupported, "*_PII", "city_pii")(
      parted(wild + ("columnKeys" -> "pii: *_PII"), "city_pii").save(target)
    )
    assertEquals(reader(kms).load(s"$target-old").count(), 40L)
  }

  test("a table whose wildcard covers a partition column is not created") {
    for (mode <- Seq("error", "append", "overwrite", "ignore"))
      refusedWildcard(parted(wild, "city_pii").mode(mode).saveAsTable("t"))
    residents.createOrReplaceTempView("residents")
    refusedWildcard {
      spark.sql(
        s"CREATE TABLE t USING `pme-parquet` OPTIONS (${listed(wild)}) PARTITIONED BY (city_pii) " +
          "AS SELECT * FROM residents"
      )
    }
    assert(!spark.catalog.tableExists("t") && !Files.exists(Paths.get(warehouse, "t")))
  }

  test("a stream whose wildcard covers a partition column writes no file") {
    refused(Unsupported, "columnKeys", "s*", "ssn") {
      start(wild + ("columnKeys" -> "pii: s*"), "ssn").awaitTermination()
    }
    // The sink's own log of batches exists before Spark calls any format.
    assertEquals(files(), Nil)
    assert(
      !Files
        .exists(Paths.get(target)) || Files.list(Paths.get(target)).noneMatch(_.toString.contains("canary"))
    )
  }

  test("a wildcard covers no partition column of another case where case matters") {
    set(Map("spark.sql.caseSensitive" -> "true"))
    val renamed = residents.withColumnRenamed("city_pii", "city_PII")
    renamed.write.format("pme-parquet").options(wild).partitionBy("city_PII").save(target)
    assertEquals(reader(wild).load(target).count(), 40L)
  }

  test("a wildcard covers what it names next to other partitions, which may be left out by name") {
    val readable = Map("compression" -> "uncompressed", "unlistedColumns" -> "plaintext")
    parted(wild ++ readable, "land").save(target)
    assertEquals(reader(wild ++ readable).load(target).count(), 40L)
    parted(wild ++ readable + ("columnKeys" -> "pii: ssn_pii"), "city_pii").save(s"$target-2")
    // A read may name more.
    assertEquals(reader(wild ++ readable).load(s"$target-2").count(), 40L)
    for (
      (path, hidden) <- Seq(target -> Seq("canary-", "city-"), s"$target-2" -> Seq("canary-"));
      file <- files(path)
    ) {
      val text = new String(Files.readAllBytes(file), "ISO-8859-1")
      hidden.foreach(value => assert(!text.contains(value), file))
    }
  }
}
