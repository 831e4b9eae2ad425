package io.pmeparquet.spark.admin

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{SealedSuite, SparkSuite}
import io.pmeparquet.spark.read.EncryptedFileScan
import io.pmeparquet.spark.snapshot.{SealedFileIndex, SealedIndex}

/** What `EXPLAIN` and the statistics of a query say of the files that its scans read. */
class QueryStatisticsSuite extends SealedSuite {
  private def once(make: String => Unit): String = {
    val path = Files.createTempDirectory(SparkSuite.scratch, "statistics").resolve("table").toString
    make(path)
    path
  }

  /** Four files of ten ids. */
  private lazy val table = once { path =>
    val frame = numbers(0, 40, 4).selectExpr("id", "id % 10 AS n", "concat('w', id) AS `a.b`")
    sealedTable(frame, path, indexes = minMax("id", "n", "`a.b`"))
  }

  /** Four partitions with two files each. */
  private lazy val partitioned = once { path =>
    for (part <- 0 to 3) save(numbers().selectExpr("id", s"$part AS part"), path, Seq("part"))
    seal(path, indexes = minMax("id"), session = fresh)
    ()
  }

  private def statistics(frame: DataFrame): JsonNode =
    new ObjectMapper().readTree(QueryStatistics.json(frame))

  private def scansOf(frame: DataFrame): Seq[JsonNode] = statistics(frame).get("scans").elements.asScala.toSeq

  /** Of each scan: files read, files, and the indexes that spared files. */
  private def counted(frame: DataFrame): Seq[(Int, Int, Seq[String])] = scansOf(frame).map { scan =>
    val by = scan.get("skippedBy").elements.asScala.map { one =>
      val column = one.get("column").elements.asScala.map(_.asText).mkString(".")
      s"${one.get("kind").asText} $column ${one.get("files").asInt}"
    }
    (scan.get("filesRead").asInt, scan.get("files").asInt, by.toSeq)
  }

  private val label = "Format: PmeParquet \\((.*?)\\), Location|Files: (.*) RuntimeFilters".r

  /** What the plan says of the files of each scan of ours. */
  private def explained(frame: DataFrame): Seq[String] =
    label
      .findAllMatchIn(frame.queryExecution.executedPlan.toString)
      .map(_.subgroups.filter(_ != null).mkString)
      .toSeq

  /** With adaptive execution and without it; in `make test`, with a turn in one of these ways. */
  private def adaptively(turn: Option[Int] = None)(block: => Unit): Unit =
    for ((adaptive, at) <- Seq("true", "false").zipWithIndex if isWhole || turn.forall(_ == at)) {
      set(Map("spark.sql.adaptive.enabled" -> adaptive))
      block
    }

  private val byId = Seq("minMax id 3")

  test("a scan says how many files it reads and by which index, before and after it runs") {
    for (
      (condition, text, by) <- Seq(
        ("true", "4 of 4 files", Nil),
        ("id < 12", "2 of 4 files, by minMax(id)", Seq("minMax id 2")),
        ("n = 77", "0 of 4 files, by minMax(n)", Seq("minMax n 4")),
        ("`a.b` = 'w15'", "2 of 4 files, by minMax(`a.b`)", Seq("minMax a.b 2")),
        ("hash(id) = 1", "4 of 4 files", Nil),
        ("_metadata.file_size > 0 AND id = 5", "1 of 4 files, by minMax(id)", byId)
      );
      how <- scans if how("scan") == "v1" || !condition.contains("_metadata")
    ) {
      val frame = load(table, how).where(condition)
      assertEquals(explained(frame), Seq(text), condition)
      val read = text.take(1).toInt
      assertEquals(counted(frame), Seq((read, 4, by)), condition)
      frame.collect()
      assertEquals(explained(frame), Seq(text), condition)
      val scan = scansOf(frame).head
      assertEquals((scan.get("version").asInt, scan.get("path").asText), (1, s"file:$table"))
      val bytes = scan.get("bytesRead").asLong
      assert(scan.get("bytes").asLong >= bytes && (bytes > 0 || read == 0), scan)
    }
  }

  test("partitions of a table are one table, and what is not sealed has no version") {
    for (how <- scans) {
      val some = (0 to 2).map(part => s"$partitioned/part=$part")
      val frame = reader(kms ++ how).load(some: _*).where("id < 5")
      assertEquals(counted(frame), Seq((3, 6, byId)))
      assertEquals(ids(frame).size, 15)
      val unsealed = load(table, how + ("snapshot" -> "off")).where("id = 5")
      assertEquals(explained(unsealed), Nil)
      assertEquals(counted(unsealed), Seq((4, 4, Nil)))
      assert(scansOf(unsealed).head.get("version").isNull)
    }
    spark.range(3).write.parquet(target)
    assertEquals(statistics(spark.read.parquet(target)).toString, """{"scans":[],"notes":[]}""")
  }

  test("the files are listed and evaluated once") {
    for (how <- scans) {
      val frame = load(table, how).where("id = 5")
      def chosen: AnyRef = frame.queryExecution.executedPlan.collectLeaves().head match {
        case scan: FileSourceScanExec =>
          scan.relation.location.asInstanceOf[SealedIndex].chosen(scan.partitionFilters, scan.dataFilters)
        case scan: BatchScanExec =>
          val own = scan.scan.asInstanceOf[EncryptedFileScan].spark
          own.fileIndex.asInstanceOf[SealedFileIndex].chosen(own.partitionFilters, own.dataFilters)
        case other => fail(other.toString)
      }
      val first = chosen
      explained(frame)
      frame.collect()
      counted(frame)
      assert(chosen eq first)
    }
  }

  test("partitions that the query prunes when it runs are not counted after it") {
    spark.range(4).selectExpr("id AS part", "id + 10 AS code").write.parquet(target)
    spark.read.parquet(target).createOrReplaceTempView("codes")
    load(partitioned).createOrReplaceTempView("parts")
    adaptively() {
      val frame = spark.sql(
        "SELECT /*+ BROADCAST(codes) */ parts.id FROM parts JOIN codes USING (part) WHERE code = 12 AND id < 5"
      )
      assertEquals(explained(frame), Seq("at most 4 of 8 files, by minMax(id)"))
      assertEquals(ids(frame), range(5))
      frame.collect()
      assertEquals(explained(frame).last, "at most 4 of 8 files, by minMax(id)")
      assertEquals(counted(frame), Seq((1, 2, Seq("minMax id 1"))))
    }
    val static = load(partitioned).where("part = 2 AND id < 5")
    assertEquals(explained(static), Seq("1 of 2 files, by minMax(id)"))
    assertEquals(counted(static), Seq((1, 2, Seq("minMax id 1"))))
  }

  test("a scan of buckets reads at most the files it says") {
    setOptions(kms)
    numbers(0, 40, 1)
      .selectExpr("id", "id AS n")
      .write
      .format("pme-parquet")
      .options(footer + ("path" -> target))
      .bucketBy(4, "n")
      .saveAsTable("bucketed")
    seal(indexes = minMax("id"))
    val found = spark.table("bucketed").where("n = 5")
    assertEquals(explained(found), Seq("at most 4 of 4 files"))
    assertEquals(ids(found), Seq(5L))
  }

  test("each scan of a query is counted once") {
    val joined = "SELECT /*+ MERGE(b) */ a.id FROM (SELECT id FROM numbers WHERE id < 5) a " +
      "JOIN (SELECT id FROM numbers WHERE id < 5) b ON a.id = b.id"
    set(Map("spark.sql.autoBroadcastJoinThreshold" -> "-1"))
    for ((how, turn) <- scans.zipWithIndex) {
      load(table, how).createOrReplaceTempView("numbers")
      adaptively(Some(turn)) {
        val frame = spark.sql(joined)
        assertEquals(ids(frame), range(5))
        frame.collect()
        // Both sides are the same: in V1, whose scans are then equal, one exchange serves both.
        val isReused = frame.queryExecution.executedPlan.toString.contains("ReusedExchange")
        assert(isReused || how("scan") == "v2")
        assertEquals(counted(frame), Seq.fill(if (isReused) 1 else 2)((1, 4, byId)))
        val other = spark.sql(joined.replace("id < 5) b", "n < 3) b"))
        assertEquals(ids(other), range(3))
        other.collect()
        assert(!other.queryExecution.executedPlan.toString.contains("ReusedExchange"))
        assertEquals(counted(other), Seq.fill(2)((1, 4, byId)))
        val nested = spark.sql("SELECT id FROM numbers WHERE n > (SELECT max(id) FROM numbers WHERE id < 5)")
        nested.collect()
        val found = counted(nested)
        assert(found.size == 2 && found.contains((1, 4, byId)), found)
      }
    }
  }

  test("the result of a subquery skips files".tag(SparkSuite.Newest)) {
    spark.sql("SELECT * FROM VALUES (15L), (3L) AS t(x)").createOrReplaceTempView("wanted")
    for ((how, turn) <- scans.zipWithIndex) {
      load(table, how).createOrReplaceTempView("numbers")
      adaptively(Some(1 - turn)) {
        val frame = spark.sql("SELECT id FROM numbers WHERE id = (SELECT max(x) FROM wanted)")
        assertEquals(rows(frame), Seq("[15]"))
        frame.collect()
        // Only V1 scans have such filters, since Spark 4.
        val knows = how("scan") == "v1" && isSpark4
        assertEquals(counted(frame), Seq(if (knows) (1, 4, byId) else (4, 4, Nil)))
        assertEquals(explained(frame).last.startsWith("at most "), knows)
      }
    }
  }

  test("cached data is not counted, and the scan of a stream says nothing of its files") {
    val cached = load(table).where("id < 12").cache()
    try {
      cached.count()
      val found = cached.where("id = 5").join(load(table).where("id = 25").select("n"), "n")
      found.collect()
      assertEquals(counted(found), Seq((1, 4, byId)))
      assert(statistics(found).get("notes").toString.contains("cached data"))
    } finally cached.unpersist()
    val query = spark.readStream
      .format("pme-parquet")
      .options(kms)
      .schema("id long, n long")
      .load(table)
      .where("id = 5")
      .writeStream
      .format("memory")
      .queryName("drained")
      .trigger(Trigger.AvailableNow())
      .start()
    query.awaitTermination()
    val printed = new ByteArrayOutputStream
    Console.withOut(printed)(query.explain(extended = true))
    val text = printed.toString(UTF_8)
    assert(text.contains("PmeParquet") && "of [\\d,]+ files?".r.findFirstIn(text).isEmpty, text)
    assertEquals(spark.table("drained").count(), 1L)
  }
}
