package io.pmeparquet.spark.read

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{PairSuite, SparkSuite}

/** Caching, adaptive execution, readers and scans: the same rows whichever way Spark goes. */
class ExecutionSuite extends PairSuite {
  private val vectorized = "spark.sql.parquet.enableVectorizedReader"

  private def cached[A](frame: DataFrame)(use: DataFrame => A): A = {
    val held = frame.cache()
    try use(held)
    finally {
      held.unpersist()
      ()
    }
  }

  test("a cached frame is used, and sees what is appended to its path") {
    for (source <- Seq(ours, theirs)) {
      source.write(residents())
      cached(source.read()) { held =>
        assertEquals(rows(held), rows(residents()))
        val scan = plan(source.read().where("id = 3"))
        assert(scan.contains("InMemoryTableScan"), scan)
        source.write(residents(20))
        assertEquals(held.count(), 40L)
      }
    }
  }

  test("a join is planned again while it runs") {
    set(Map("spark.sql.adaptive.enabled" -> "true", "spark.sql.autoBroadcastJoinThreshold" -> "-1"))
    Seq(ours, theirs).foreach(_.write(residents()))
    def job(source: Source) = {
      val (left, right) = (source.read().as("l"), source.read().as("r"))
      val joined = left.join(right, left("ssn") === right("ssn")).groupBy("l.country").count()
      joined.collect()
      joined
    }
    assertEquals(same(job).size, 3)
    val found = plan(job(ours))
    assert(found.contains("isFinalPlan=true"), found)
  }

  test("every scan gives the same rows, in batches or not, also of nested columns") {
    val nested = "spark.sql.parquet.enableNestedColumnVectorizedReader"
    for (source <- Seq(ours, theirs)) source.writer(residents()).partitionBy("country").save(source.path)
    val asked = Seq("address.street", "tags", "scores", "country", "salary")
    val all = rows(residents())
    for (scan <- Seq("auto", "v1", "v2"); batches <- Seq("true", "false")) {
      set(Map(vectorized -> batches, nested -> "true"))
      val found = same(_.read("scan" -> scan).where("id > 2 AND country <> 'fr'").selectExpr(asked: _*))
      assertEquals(found.size, 11)
      set(Map(vectorized -> "true", nested -> batches))
      assertEquals(rows(ours.read("scan" -> scan)), all)
    }
  }

  for ((scan, node) <- Seq("v1" -> "Scan pme-parquet", "v2" -> "BatchScan"))
    test(s"the option scan chooses: $scan") {
      ours.write(residents())
      val found = plan(ours.read("scan" -> scan))
      assert(found.contains(node), found)
    }

  test("small batches and small splits lose no row") {
    set(
      Map("spark.sql.parquet.columnarReaderBatchSize" -> "64", "spark.sql.files.maxPartitionBytes" -> "4096")
    )
    def job(source: Source) = {
      source.write(spark.range(0, 3000, 1, 1).toDF(), "parquet.block.size" -> "4096")
      source.read().where("id % 500 = 0")
    }
    assertEquals(same(job).size, 6)
  }

  test("files that are hidden from Spark stay hidden") {
    ours.write(residents())
    Files.write(Paths.get(ours.path, "_notes"), "not data".getBytes("UTF-8"))
    assertEquals(ours.read().count(), 20L)
  }

  test("a frame outlives many other readers, and is read again and again".tag(SparkSuite.Nightly)) {
    ours.write(residents())
    val first = ours.read()
    val few = first.where("id < 4")
    for (seconds <- 100 until 180)
      ours
        .reader("parquet.encryption.cache.lifetime.seconds" -> seconds.toString)
        .schema(first.schema)
        .load(ours.path)
    System.gc()
    assertEquals(rows(first), rows(residents()))
    assertEquals(Seq.fill(3)(few.count()), Seq(4L, 4L, 4L))
    assertEquals(rows(few.union(few)), (rows(few) ++ rows(few)).sorted)
  }

  // Spark interprets expressions whose generated code does not compile, and in these settings.
  for (scan <- Seq("v1", "v2"))
    test(s"a null within a struct is no value where Spark interprets expressions: $scan") {
      set(Map("spark.sql.codegen.wholeStage" -> "false", "spark.sql.codegen.factoryMode" -> "NO_CODEGEN"))
      val structs = Seq("NULL", "named_struct('n', CAST(NULL AS BIGINT), 'word', 'x')") ++
        Seq("named_struct('n', 5L, 'word', CAST(NULL AS STRING))", "named_struct('n', 0L, 'word', 'y')")
      val listed = structs.zipWithIndex.map { case (struct, id) => s"SELECT ${id}L AS id, $struct AS s" }
      ours.write(spark.sql(listed.mkString(" UNION ALL ")).coalesce(1))
      val frame = ours.read("scan" -> scan)
      assertEquals(rows(frame.selectExpr("id", "s.n")), Seq("[0,null]", "[1,null]", "[2,5]", "[3,0]"))
      for ((condition, ids) <- Seq("s.n IS NULL" -> "01", "s.n <> 7" -> "23", "s.word IS NULL" -> "02"))
        assertEquals(rows(frame.where(condition).selectExpr("id")), ids.map(id => s"[$id]").toSeq, condition)
    }
}
