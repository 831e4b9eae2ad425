package io.pmeparquet.spark.write

import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.PairSuite
import io.pmeparquet.Condition.Unsupported

/** Bucketed and sorted tables, as those of Spark's own source, and no buckets by values that keys protect. */
class BucketsSuite extends PairSuite {
  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    setOptions(kms)
  }

  private def bucketed(source: Source): DataFrame = {
    source
      .writer(residents(), "path" -> source.path)
      .bucketBy(3, "id")
      .sortBy("id")
      .saveAsTable(source.table)
    spark.table(source.table)
  }

  test("buckets read back, have their number in the file's name, and are read alone") {
    assertEquals(same(bucketed).size, 20)
    val numbers = files(ours.path).map(_.getFileName.toString.split("[_.]")(1))
    assertEquals(numbers.toSet, Set("00000", "00001", "00002"))
    // With this setting on, Spark ignores the buckets in a scan if no join or aggregate profits from them.
    set(Map("spark.sql.sources.bucketing.autoBucketedScan.enabled" -> "false"))
    assertEquals(same(source => spark.table(source.table).where("id = 7")).size, 1)
    val scan = plan(spark.table(ours.table).where("id = 7"))
    assert(scan.contains("SelectedBucketsCount: 1 out of 3"), scan)
  }

  test("a join of buckets needs no exchange, and rows are inserted into their buckets") {
    Seq(ours, theirs).foreach(bucketed)
    set(Map("spark.sql.autoBroadcastJoinThreshold" -> "-1"))
    def joined(source: Source) = {
      val left = spark.table(source.table).as("l")
      left.join(spark.table(source.table).as("r"), "id").select("id", "l.name", "r.salary")
    }
    assertEquals(same(joined).size, 20)
    for (bucketing <- Seq(false, true)) {
      set(Map("spark.sql.sources.bucketing.enabled" -> bucketing.toString))
      assertEquals(plan(joined(ours)).contains("Exchange"), !bucketing)
    }
    assertEquals(
      same { source =>
        residents(70, 5).write.insertInto(source.table)
        spark.table(source.table)
      }.size,
      25
    )
  }

  test("a table has partitions and buckets together") {
    def job(source: Source) = {
      def writer(frame: DataFrame) = source.writer(frame).partitionBy("country").bucketBy(2, "id")
      writer(residents()).option("path", source.path).saveAsTable(source.table)
      writer(residents(50)).mode("append").saveAsTable(source.table)
      spark.table(source.table)
    }
    assertEquals(same(job).size, 40)
  }

  test("a protected column makes no buckets") {
    val keyed = "columnKeys" -> "pii: name, ssn"
    for (mode <- Seq("overwrite", "append"))
      refused(Unsupported, "'ssn'", "bucketBy", "hash") {
        val writer = ours.writer(residents(), keyed, "path" -> ours.path).mode(mode)
        writer.bucketBy(3, "ssn").saveAsTable(ours.table)
      }
    assertEquals(files(ours.path), Nil)
    ours.writer(residents(), keyed, "path" -> ours.path).bucketBy(3, "id").saveAsTable(ours.table)
    assertEquals(spark.table(ours.table).count(), 20L)
  }

  for (name <- Seq("pme-parquet", "pme-orc"))
    test(s"a table clustered by a protected column is not made: $name") {
      refused(Unsupported, "CLUSTERED BY") {
        spark.sql(
          s"CREATE TABLE buckets (id BIGINT, ssn STRING) USING `$name` OPTIONS (columnKeys 'pii: ssn') " +
            "CLUSTERED BY (SSN) INTO 3 BUCKETS"
        )
      }
      assert(!spark.catalog.tableExists("buckets"))
    }

  test("keys of the session bind the buckets of a table without keys of its own") {
    spark.sql(
      s"CREATE TABLE buckets (id BIGINT, ssn STRING) ${ours.clause()} CLUSTERED BY (ssn) INTO 3 BUCKETS"
    )
    setOptions(Map("columnKeys" -> "pii: ssn"))
    refused(Unsupported, "bucketBy")(spark.sql("INSERT INTO buckets VALUES (1, 'a')"))
    assertEquals(spark.table("buckets").count(), 0L)
  }
}
