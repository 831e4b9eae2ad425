package io.pmeparquet.spark.write

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.SparkSuite

/**
 * A stream that fails while it writes leaves no file behind, and no key material for a file that does not exist.
 */
class FailedStreamsSuite extends SparkSuite {
  private val Fatal = 110L
  private val Material = raw"_KEY_MATERIAL_FOR_(.*)\.json".r

  // Values are in every place of a file that can have them.
  private val external = keys ++ Map(
    "keyMaterial" -> "external",
    "compression" -> "uncompressed",
    "parquet.page.row.count.limit" -> "20",
    "parquet.bloom.filter.enabled#ssn" -> "true",
    "parquet.bloom.filter.max.bytes" -> "4096"
  )

  // In the last column, so that the file is open and has some of its rows when the error is raised.
  private val dying = s"IF(id = $Fatal, raise_error('stop here'), id) AS late"

  private def inbox = s"$target-inbox"

  private def frame: DataFrame = spark
    .range(0, 120, 1, 1)
    .selectExpr("concat('canary-', id) AS ssn", "id * 1.5D AS salary", "id", "CAST(id % 2 AS INT) AS part")

  /** Adds a file before the stream for each frame: its next batches. */
  private def arrive(batches: DataFrame*): Unit = batches.foreach(_.write.mode("append").parquet(inbox))

  private def stream(more: Map[String, String] = Map.empty, partitions: Seq[String] = Nil): Unit =
    spark.readStream
      .schema(frame.schema)
      .option("maxFilesPerTrigger", "1")
      .parquet(inbox)
      .selectExpr("*", dying)
      .writeStream
      .format(SparkSuite.Format)
      .options(external ++ more)
      .option("checkpointLocation", s"$target-checkpoint")
      .partitionBy(partitions: _*)
      .trigger(Trigger.AvailableNow())
      .start(target)
      .awaitTermination()

  private def stops(block: => Any): Unit = {
    val causes =
      Iterator.iterate[Throwable](intercept[Exception](block))(_.getCause).takeWhile(_ != null).toSeq
    assert(causes.exists(cause => String.valueOf(cause.getMessage).contains("stop here")), causes)
  }

  /** The data files that there is key material for. */
  private def materials: Set[Path] = allFiles()
    .flatMap(file =>
      file.getFileName.toString match {
        case Material(name) => Some(file.resolveSibling(name))
        case _ => None
      }
    )
    .toSet

  private def nothingIsLeft(): Unit = {
    assertEquals(files(), Nil)
    assertEquals(materials, Set.empty[Path])
    // The sink has a log of its batches.
    for (file <- allFiles())
      assert(!new String(Files.readAllBytes(file), ISO_8859_1).contains("canary"), file)
  }

  test("a failed batch leaves nothing") {
    arrive(frame)
    stops(stream())
    nothingIsLeft()
  }

  test("a failed partitioned batch leaves nothing") {
    arrive(frame)
    // Otherwise Spark sorts by partition first, and the batch fails before it opens a file.
    set(Map("spark.sql.maxConcurrentOutputFileWriters" -> "10"))
    stops(stream(partitions = Seq("part")))
    nothingIsLeft()
  }

  test("a failed batch of many files leaves nothing") {
    arrive(frame)
    stops(stream(Map("maxRecordsPerFile" -> "20")))
    nothingIsLeft()
  }

  test("a failed batch removes nothing of earlier batches") {
    arrive(frame.where(s"id < ${Fatal - 10}"), frame.where(s"id >= ${Fatal - 10}"))
    stops(stream())
    assertEquals(files().size, 1)
    assertEquals(materials, files().toSet)
    assertEquals(reader(kms).load(target).count(), Fatal - 10)
  }

  test("a failed write of a frame leaves nothing either") {
    stops(write(frame.selectExpr("*", dying), external))
    nothingIsLeft()
  }

  test("a stream that succeeds has material for every file") {
    arrive(frame.where(s"id < $Fatal"))
    stream()
    assertNotEquals(files(), Nil)
    assertEquals(materials, files().toSet)
  }
}
