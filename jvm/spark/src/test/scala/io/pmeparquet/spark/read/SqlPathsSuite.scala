package io.pmeparquet.spark.read

import java.nio.file.{Files, Path, Paths}

import io.pmeparquet.spark.PairSuite
import io.pmeparquet.Condition.PlaintextFile

/** What is read and written by path: files named in SQL, views, patterns, options of file sources, summary files. */
class SqlPathsSuite extends PairSuite {

  test("a path in SQL is read with the session's keys") {
    setOptions(kms)
    def job(source: Source) = {
      source.write(residents())
      spark.sql(s"SELECT * FROM `${source.format}`.`${source.path}` WHERE id > 2")
    }
    assertEquals(same(job).size, 17)
  }

  test("a path is written with the session's keys") {
    setOptions(ours.options)
    residents().write.format(ours.format).save(ours.path)
    assertEquals(rows(spark.read.format(ours.format).load(ours.path)), rows(residents()))
    assertEncrypted()
  }

  test("a temporary view reads its path, and what is inserted into it is written there") {
    def view(source: Source) = s"view_of_${source.table}"
    def read(source: Source) = {
      source.write(residents())
      spark.sql(
        s"CREATE OR REPLACE TEMPORARY VIEW ${view(source)} ${source.clause("path" -> source.path)}"
      )
      spark.sql(s"SELECT name, address.street FROM ${view(source)} WHERE id BETWEEN 3 AND 9")
    }
    def insert(source: Source) = {
      residents(60, 4).write.insertInto(view(source))
      source.read()
    }
    assertEquals(same(read).size, 7)
    assertEquals(same(insert).size, 24)
    assertEncrypted()
  }

  test("a permanent view reads its table") {
    setOptions(kms)
    def job(source: Source) = {
      source.writer(residents()).saveAsTable(source.table)
      spark.sql(s"CREATE VIEW view_of_${source.table} AS SELECT id, upper(name) AS name FROM ${source.table}")
      spark.table(s"view_of_${source.table}").where("id < 5")
    }
    assertEquals(same(job).size, 5)
  }

  test("options of file sources keep their meaning, and basePath keeps the partition column") {
    for (source <- Seq(ours, theirs)) {
      source.writer(residents()).partitionBy("country").save(source.path)
      // Not Parquet: whoever reads it fails.
      Files.write(Paths.get(source.path, "country=de", "notes"), Array[Byte](1, 2, 3))
    }
    val only = "pathGlobFilter" -> "*.parquet"
    assertEquals(same(_.read(only)).size, 20)
    assertEquals(same(_.read(only, "recursiveFileLookup" -> "true")).size, 20)
    assertEquals(same(_.read(only, "modifiedAfter" -> "2020-01-01T00:00:00")).size, 20)
    val inDirectory =
      same(source => source.reader(only, "basePath" -> source.path).load(s"${source.path}/country=de"))
    assertEquals(inDirectory.size, 7)
  }

  test("several paths and patterns of paths are read together") {
    def job(source: Source) = {
      for (start <- Seq(0L, 20L, 40L)) source.writer(residents(start)).save(s"${source.path}/part$start")
      val some = source.reader().load(s"${source.path}/part0", s"${source.path}/part40")
      some.unionAll(source.reader().load(s"${source.path}/part[24]*"))
    }
    assertEquals(same(job).size, 80)
  }

  private val summaries = Seq("_metadata", "_common_metadata")

  /** A directory with only the summary files of a plaintext table, which Parquet writes in plaintext. */
  private def summaryFiles(): Path = {
    val plain = Paths.get(s"$target-plain")
    val writer = spark.range(9).selectExpr("id", "id * 2.5D AS number").write
    writer.option("parquet.summary.metadata.level", "ALL").parquet(plain.toString)
    val place = Files.createDirectory(directory.resolve("summaries"))
    summaries.foreach(name => Files.move(plain.resolve(name), place.resolve(name)))
    place
  }

  test("summary files without data give a schema only where plaintext is allowed") {
    val place = summaryFiles().toString
    for (merge <- Seq("true", "false"); scan <- Seq("v1", "v2")) {
      val options = Seq("mergeSchema" -> merge, "spark.sql.parquet.respectSummaryFiles" -> "true")
      val expected = theirs.reader(options: _*).load(place)
      val reader = ours.reader(options :+ ("scan" -> scan): _*)
      refused(PlaintextFile, summaries :+ "summaries" :+ "plaintextFiles=allow": _*)(reader.load(place))
      val found = reader.option("plaintextFiles", "allow").load(place)
      assertEquals(found.schema, expected.schema)
      assertEquals(rows(found), Nil)
      assertEquals(rows(expected), Nil)
      assertEquals(rows(ours.reader("scan" -> scan).schema("id BIGINT").load(place)), Nil)
    }
  }

  test("a summary file next to data has no effect") {
    val place = summaryFiles()
    ours.write(spark.range(3).selectExpr("id AS other"))
    summaries.foreach(name => Files.copy(place.resolve(name), Paths.get(ours.path, name)))
    for (plaintext <- Seq("error", "allow"); merge <- Seq("true", "false")) {
      val frame = ours.read("plaintextFiles" -> plaintext, "mergeSchema" -> merge)
      assertEquals(frame.columns.toSeq, Seq("other"))
      assertEquals(rows(frame), Seq("[0]", "[1]", "[2]"))
    }
  }
}
