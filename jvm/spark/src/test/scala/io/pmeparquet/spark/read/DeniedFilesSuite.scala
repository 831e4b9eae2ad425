package io.pmeparquet.spark.read

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.security.MessageDigest
import java.util.Base64

import org.apache.spark.sql.{DataFrame, Row}

import io.pmeparquet.spark.admin.{QueryStatistics, TableCopies}
import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition.{
  BadOption,
  KeyDenied,
  KeyMetadata,
  KeyNotFound,
  KmsUnavailable,
  NotAuthentic,
  Unsupported
}

/** With `deniedFiles=skip` a reader of some keys reads the files under them, and says how many others there are. */
class DeniedFilesSuite extends SparkSuite {
  private val skip = Map("deniedFiles" -> "skip")
  private val bound = Map("footerKey" -> "t-{tenant}", "columnKeys" -> "pii-{tenant}: ssn")
  private val some = Seq("t-a", "pii-a", "t-b", "pii-b")

  private val tenants = Seq("a", "b", "c", "d")

  private def rowsOf: DataFrame =
    people.selectExpr(
      "*",
      s"element_at(array(${tenants.map(t => s"'$t'").mkString(", ")}), CAST(id % 4 + 1 AS INT)) AS tenant"
    )

  /** A table under the keys of a keystore that has all of them. */
  private def made(): Unit = {
    val all = held("mine", tenants.flatMap(tenant => Seq(s"t-$tenant", s"pii-$tenant")): _*)
    rowsOf.write.format("pme-parquet").options(all ++ bound).partitionBy("tenant").save(target)
  }

  private val missing = skip + ("missingKeys" -> "drop")
  private def mine = held("mine", some: _*)
  private def read(options: Map[String, String]) = reader(mine ++ options).load(target)
  private val expected = "tenant IN ('a', 'b')"
  private def ordered(frame: DataFrame) = rows(frame.select("ssn", "salary", "id", "tenant"))

  for (scan <- Seq("v1", "v2"); vectorized <- Seq("true", "false"))
    test(s"a reader reads the files of its keys, and no others: scan=$scan, vectorized=$vectorized") {
      made()
      set(Map("spark.sql.parquet.enableVectorizedReader" -> vectorized))
      val options = missing + ("scan" -> scan)
      for (more <- Seq(Map.empty[String, String], bound) if more.isEmpty || scan == "v1") {
        val frame = read(options ++ more)
        assertEquals(ordered(frame), ordered(rowsOf.where(expected)))
        assertEquals(frame.count(), 20L)
        assertEquals(frame.where("id > 30").agg("id" -> "sum").collect().toSeq, Seq(Row(138L)))
      }
    }

  test("the number of files that were left out is in the statistics of the query") {
    made()
    for (scan <- Seq("v1", "v2")) {
      val frame = read(missing + ("scan" -> scan))
      frame.collect()
      val found = QueryStatistics.json(frame)
      assert(found.contains("2 of the files that are counted as read were left out"), found)
      // Partitions that Spark prunes are not met.
      val pruned = frame.where("tenant = 'a'")
      pruned.collect()
      assert(!QueryStatistics.json(pruned).contains("left out"))
    }
  }

  test("aggregates are of the rows that are read, also where footers could answer") {
    made()
    set(Map("spark.sql.parquet.aggregatePushdown" -> "true"))
    val found = read(missing + ("scan" -> "v2")).selectExpr("count(*)", "max(id)").collect().toSeq
    assertEquals(found, rowsOf.where(expected).selectExpr("count(*)", "max(id)").collect().toSeq)
  }

  test("without it, or without missingKeys where a keystore lacks keys, the query fails") {
    made()
    for (
      options <- Seq(
        Map.empty[String, String],
        skip,
        Map("missingKeys" -> "drop"),
        skip + ("missingKeys" -> "error")
      )
    )
      refused(KeyNotFound, "does not have it")(read(options).collect())
  }

  test("where the KMS refuses a key, deniedFiles=skip is enough; where it does not answer, nothing is") {
    // Keys as the KMS of the tests has them.
    val names = Seq("a", "denied-c", "down-d")
    val lines = names.map { name =>
      val key = MessageDigest.getInstance("SHA-256").digest(s"pme-testkit:$name".getBytes(UTF_8)).take(16)
      s"$name=${Base64.getEncoder.encodeToString(key)}"
    }
    val listed = Files.write(directory.resolve("keys"), lines.mkString("\n").getBytes(UTF_8))
    val writer = Map("kms" -> "static", "kms.static.keys" -> s"file:$listed", "footerKey" -> "{tenant}")
    def rowsOf(name: String) = people.selectExpr("*", s"'$name' AS tenant")
    for (name <- names.take(2))
      rowsOf(name).write
        .format("pme-parquet")
        .options(writer)
        .mode("append")
        .partitionBy("tenant")
        .save(target)
    refused(KeyDenied, "'denied-c'")(reader(kms).load(target).collect())
    assertEquals(ordered(reader(kms ++ skip).load(target)), ordered(rowsOf("a")))
    rowsOf("down-d").write
      .format("pme-parquet")
      .options(writer)
      .mode("append")
      .partitionBy("tenant")
      .save(target)
    refused(KmsUnavailable)(reader(kms ++ missing).load(target).collect())
  }

  test("a column whose key is refused is no file that is left out") {
    val all = held("mine", "t-a", "t-b", "t-c", "t-d", "pii-a", "pii-b", "pii-c", "pii-d")
    rowsOf.write.format("pme-parquet").options(all ++ bound).partitionBy("tenant").save(target)
    val footers = held("mine", tenants.map("t-" + _): _*)
    refused(KeyNotFound, "column 'ssn'")(reader(footers ++ skip).load(target).select("ssn").collect())
    assertEquals(
      reader(footers ++ skip + ("missingKeys" -> "null")).load(target).where("id >= 0").count(),
      40L
    )
  }

  test("all files refused: the error is the refusal, and no empty table") {
    made()
    refused(KeyNotFound, "does not have it")(reader(held("mine", "other") ++ missing).load(target).collect())
    val typed = reader(held("mine", "other") ++ missing).schema(rowsOf.schema).load(target)
    assertEquals(typed.count(), 0L)
  }

  test("what is wrong with a file for another reason fails the query") {
    made()
    // The same name, another key.
    val wrong = held("yours", some: _*)
    refused(NotAuthentic)(reader(wrong ++ missing).load(target).collect())
    refused(KeyMetadata, "requires key 'x-a'")(
      reader(mine ++ missing + ("footerKey" -> "x-{tenant}")).load(target).collect()
    )
  }

  test("an overwrite of partitions that the reader sees only in part is refused") {
    made()
    set(Map("spark.sql.sources.partitionOverwriteMode" -> "dynamic"))
    untouched() {
      refused(Unsupported, "deniedFiles=skip") {
        val frame = read(missing)
        frame.write
          .format("pme-parquet")
          .options(mine ++ bound)
          .mode("overwrite")
          .partitionBy("tenant")
          .save(target)
      }
    }
  }

  test("copies leave nothing out, and Spark's own reader has no such option") {
    made()
    val options = javaOf(mine ++ missing)
    refused(KeyNotFound, "does not have it") {
      TableCopies.rekey(spark, target, s"$target-copy", options, javaOf(kms + ("footerKey" -> "one")))
    }
    refused(BadOption, "deniedFiles=skip and reader=spark")(read(skip + ("reader" -> "spark")).collect())
  }

  private def javaOf(options: Map[String, String]) = {
    val made = new java.util.HashMap[String, String]
    options.foreach { case (name, value) => made.put(name, value) }
    made
  }
}
