package io.pmeparquet.spark.keys

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.streaming.{DataStreamWriter, Trigger}
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.SparkSuite

/** Tables under as many keys as a test wants: column `c7` is under `k7`, and `id`, like the footer, under `footer`. */
abstract class CountedSuite extends SparkSuite {

  /** Each scan with each reader. */
  protected val ways: Seq[Map[String, String]] =
    for (scan <- Seq("v1", "v2"); reader <- Seq("pages", "spark"))
      yield Map("scan" -> scan, "reader" -> reader)

  /** Two of them, with each scan and each reader. */
  protected val (some, others) = (Seq(ways(0), ways(3)), Seq(ways(1), ways(2)))

  protected def nameOf(way: Map[String, String]): String = way.values.mkString(" ")

  protected val perFile = 2

  /** The rows of this many files, in one partition. */
  protected def content(columns: Int, files: Int): DataFrame = spark
    .range(0, files.toLong * perFile, 1, 1)
    .selectExpr("id" +: (0 until columns).map(at => s"concat('c$at-', id) AS c$at"): _*)

  /** What is written to this many files. */
  protected def wide(columns: Int, files: Int): DataFrame = {
    val made = content(columns, files)
    if (files > 1) made.repartition(files) else made
  }

  protected def encrypting(columns: Int): Map[String, String] =
    Map("footerKey" -> "footer", "columnKeys" -> (0 until columns).map(at => s"k$at: c$at").mkString("; "))

  /** The calls that ask for every key so many times. */
  protected def each(columns: Int, times: Int = 1): Map[String, Int] =
    ("footer" +: (0 until columns).map(at => s"k$at")).map(_ -> times).toMap

  /** The table of twenty files and three columns that only reads use. */
  protected lazy val twenty: String = made("twenty", 3, 20)

  protected def made(name: String, columns: Int, files: Int, options: (String, String)*): String = {
    val path = directory.resolve(name).toString
    write(wide(columns, files), kms ++ encrypting(columns) ++ options, path)
    path
  }

  /** Reads a table whose schema is given: no file is opened to infer it. */
  protected def known(guard: KeyGuard, path: String, more: Map[String, String] = Map.empty): DataFrame =
    reader(guard.options ++ more).schema(wide(3, 1).schema).load(path)

  /** Runs a stream to its end, and fails unless it has had so many batches. */
  protected def run(stream: DataStreamWriter[_], batches: Int, path: String = ""): Unit = {
    val checkpoint = Paths.get(s"$directory/checkpoint")
    def committed = Option(checkpoint.resolve("commits").toFile.list).toSeq.flatten.count(_.forall(_.isDigit))
    val before = committed
    val made = stream.option("checkpointLocation", checkpoint.toString).trigger(Trigger.AvailableNow())
    val query = if (path.isEmpty) made.start() else made.start(path)
    try query.processAllAvailable()
    finally query.stop()
    assertEquals(committed - before, batches)
  }

  /** A table as a stream, a file at a time. */
  protected def arriving(path: String, guard: KeyGuard, more: Map[String, String] = Map.empty): DataFrame =
    spark.readStream
      .format("pme-parquet")
      .schema(wide(3, 1).schema)
      .options(guard.options ++ more + ("maxFilesPerTrigger" -> "1"))
      .load(path)

  /** Adds more files to a table. */
  protected def append(path: String, columns: Int, files: Int, options: Map[String, String] = kms): Unit =
    wide(columns, files).write
      .format("pme-parquet")
      .options(options ++ encrypting(columns))
      .mode("append")
      .save(path)

  protected def exists(path: String): Boolean = Files.exists(Paths.get(path))
}
