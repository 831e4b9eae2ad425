package io.pmeparquet.spark.rules

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.streaming.{DataStreamWriter, Trigger}

import io.pmeparquet.spark.{EachSpark, SparkSuite}
import io.pmeparquet.Condition.Unsupported

/** What Spark allows and what loses or hides rows: each is refused before a file changes. */
class RowsAtRiskSuite extends SparkSuite with EachSpark {
  private val formats =
    Map("pme-parquet" -> Map("uniformKey" -> "footer"), "pme-orc" -> Map("columnKeys" -> "pii: id"))

  private def numbers: DataFrame = spark.range(6).selectExpr("id", "id % 2 AS day", "id % 3 AS hour")

  private def save(
      frame: DataFrame,
      path: String = target,
      columns: Seq[String] = Nil,
      mode: String = "error",
      name: String = "pme-parquet"
  ): Unit =
    frame.write.format(name).options(kms ++ formats(name)).mode(mode).partitionBy(columns: _*).save(path)

  private def table(columns: Seq[String]): Unit = copied(columns)(save(numbers, _, columns))

  private def load(
      path: String = target,
      name: String = "pme-parquet",
      options: Map[String, String] = Map.empty
  ) =
    spark.read.format(name).options(kms ++ options).load(path)

  // What reads the table that it overwrites, or a part of it.
  private val reads: Map[String, () => DataFrame] = Map(
    "the table" -> (() => load()),
    "one partition" -> (() => load(s"$target/day=1")),
    "a pattern of files" -> (() => load(s"$target/day=*/*")),
    "the directory above" -> (() => load(directory.toString, options = Map("recursiveFileLookup" -> "true"))),
    "the other scan" -> (() => load(options = Map("scan" -> "v2")).where("id > 1")),
    "an RDD" -> (() => spark.createDataFrame(load().select("id").rdd, spark.range(1).schema)),
    "cached rows" -> (() => load().cache()),
    "a subquery" -> { () =>
      load().createOrReplaceTempView("at_risk")
      spark.sql(
        "SELECT id FROM range(9) WHERE id IN (SELECT id FROM at_risk) OR id = (SELECT max(id) FROM at_risk)"
      )
    }
  )

  for ((read, frame) <- reads)
    test(s"an overwrite of what it reads is refused: $read") {
      table(Seq("day"))
      try
        untouched(directory.toString) {
          refused(Unsupported, "overwrite", "would be lost", "another directory") {
            save(frame(), mode = "overwrite")
          }
        }
      finally spark.catalog.clearCache()
      assertEquals(load().count(), 6L)
    }

  test("an overwrite from elsewhere and of single partitions is allowed") {
    table(Seq("day"))
    save(load(), s"$target-2", Seq("day"), "overwrite")
    save(load().limit(3), s"$target-2", mode = "overwrite")
    overwriteOneDay("dynamic")
    assertEquals(load().select("id").collect().map(_.getLong(0)).toSeq.sorted, Seq[Long](0, 2, 4, 11, 13, 15))
  }

  private def overwriteOneDay(partitionOverwriteMode: String): Unit = load()
    .where("day = 1")
    .selectExpr("id + 10 AS id", "hour", "day")
    .write
    .format("pme-parquet")
    .options(kms ++ formats("pme-parquet"))
    .option("partitionOverwriteMode", partitionOverwriteMode)
    .mode("overwrite")
    .partitionBy("day")
    .save(target)

  test("an overwrite's own mode counts, not the session's: of single partitions, or of all") {
    table(Seq("day"))
    set(Map("spark.sql.sources.partitionOverwriteMode" -> "dynamic"))
    untouched()(refused(Unsupported, "overwrite", "would be lost")(overwriteOneDay("static")))
    set(Map("spark.sql.sources.partitionOverwriteMode" -> "static"))
    overwriteOneDay("dynamic")
    assertEquals(load().count(), 6L)
  }

  test("an overwrite of encrypted ORC that it reads is refused") {
    save(numbers, name = "pme-orc")
    refused(Unsupported, "would be lost")(save(load(name = "pme-orc"), mode = "overwrite", name = "pme-orc"))
    assertEquals(load(name = "pme-orc").count(), 6L)
  }

  for (
    (there, asked, advice) <- Seq(
      (Seq("day"), Nil, "partitionBy('day')"),
      (Seq("day", "hour"), Nil, "partitionBy('day', 'hour')"),
      (Seq("day", "hour"), Seq("hour", "day"), "partitionBy('day', 'hour')"),
      (Seq("day"), Seq("day", "hour"), "partitionBy('day')"),
      (Nil, Seq("day"), "without partitionBy")
    )
  )
    test(s"an append in another partition layout is refused: $there, $asked") {
      table(there)
      untouched()(refused(Unsupported, "partition", advice)(save(numbers, columns = asked, mode = "append")))
      save(numbers, columns = there, mode = "append")
      assertEquals(load().count(), 12L)
    }

  private def stream(
      checkpoint: String,
      name: String = "pme-parquet",
      options: Map[String, String] = Map.empty
  ): DataStreamWriter[Row] = {
    val rows = spark.readStream.format(name).schema("id LONG, day LONG, hour LONG").options(kms ++ options)
    val writer = rows.load(s"$target-in").writeStream.format(name).options(kms ++ formats(name))
    writer.option("checkpointLocation", s"$target-$checkpoint").trigger(Trigger.AvailableNow())
  }

  for (name <- Seq("pme-parquet", "pme-orc"))
    test(s"a stream into a directory with other files is refused: $name") {
      save(numbers, s"$target-in", name = name)
      save(numbers, name = name)
      refused(Unsupported, "_spark_metadata", "empty directory")(stream("c", name).start(target))
      // An empty list would hide the rows.
      assertEquals(load(name = name).count(), 6L)
      // Into a directory of its own, and started again, it runs.
      for (_ <- 1 to 2) {
        stream("c2", name).start(s"$target-new").awaitTermination()
        save(numbers, s"$target-in", mode = "append", name = name)
      }
      assertEquals(load(s"$target-new", name).count(), 12L)
    }

  test("a stream goes on after a first batch that did not end") {
    save(numbers, s"$target-in")
    stream("c").start(target).awaitTermination()
    for (entry <- Seq(s"$target/_spark_metadata/0", s"$target-c/commits/0").map(Paths.get(_))) {
      Files.delete(entry)
      Files.deleteIfExists(entry.resolveSibling(s".${entry.getFileName}.crc"))
    }
    stream("c").start(target).awaitTermination()
    assertEquals(load().count(), 6L)
  }

  test("a stream archives no file without its keys") {
    numbers.write
      .format("pme-parquet")
      .options(kms ++ formats("pme-parquet") + ("keyMaterial" -> "external"))
      .save(s"$target-in")
    for (option <- Seq("cleanSource", "CLEANSOURCE")) {
      val archiving = Map(option -> "ARCHIVE", "sourceArchiveDir" -> s"$target-archive")
      untouched(s"$target-in") {
        refused(Unsupported, "keyMaterial=external", "cleanSource=off") {
          stream(s"c-$option", options = archiving).start(target).awaitTermination()
        }
      }
      assert(!Files.exists(Paths.get(s"$target-archive")))
    }
  }
}
