package io.pmeparquet.spark.read

import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.streaming.{DataStreamWriter, Trigger}

import io.pmeparquet.spark.{PairSuite, SparkSuite}

/** Streams from our format and into it, as those of Spark's own source. */
class StreamsSuite extends PairSuite {
  private def inbox(source: Source) = s"${source.path}-in"

  private def send(source: Source, frame: DataFrame = residents()): Unit =
    source.writer(frame).mode("append").save(inbox(source))

  private def stream(source: Source, more: (String, String)*): DataFrame = {
    val reader = spark.readStream.format(source.format).schema(residents().schema)
    reader.options(source.options ++ more).load(inbox(source))
  }

  private def sink(frame: DataFrame, source: Source): DataStreamWriter[Row] =
    frame.writeStream
      .format(source.format)
      .options(source.options)
      .option("checkpointLocation", s"${source.path}-c")
      .trigger(Trigger.AvailableNow())

  private def drain(writer: DataStreamWriter[Row], source: Source): DataFrame = {
    writer.start(source.path).awaitTermination()
    source.read()
  }

  test("a stream reads and writes, and a restart from its checkpoint reads only new files") {
    for (start <- Seq(0L, 20L)) {
      def job(source: Source) = {
        send(source, residents(start))
        drain(sink(stream(source), source), source)
      }
      assertEquals(same(job).size, start.toInt + 20)
    }
    assertEncrypted()
  }

  test("a stream writes partitions".tag(SparkSuite.Nightly)) {
    assertEquals(
      same { source =>
        send(source)
        drain(sink(stream(source), source).partitionBy("country"), source)
      }.size,
      20
    )
    assertEncrypted()
  }

  test("a stream writes a table, whose keys its readers name") {
    def job(source: Source) = {
      send(source)
      sink(stream(source), source).toTable(source.table).awaitTermination()
      // Spark keeps no options of the stream with the table.
      source.reader().table(source.table)
    }
    assertEquals(same(job).size, 20)
  }

  test("a stream's schema is inferred") {
    set(Map("spark.sql.streaming.schemaInference" -> "true"))
    def job(source: Source) = {
      send(source)
      val frame = spark.readStream.format(source.format).options(source.options).load(inbox(source))
      drain(sink(frame, source), source)
    }
    assertEquals(same(job).size, 20)
  }

  test("files are read in batches") {
    var batches = Seq.empty[Long]
    def job(source: Source) = {
      send(source, residents().repartition(2))
      val query = sink(stream(source, "maxFilesPerTrigger" -> "1"), source).start(source.path)
      query.awaitTermination()
      batches :+= query.lastProgress.batchId
      source.read()
    }
    assertEquals(same(job).size, 20)
    assertEquals(batches.distinct.size, 1)
    assert(batches.head >= 1, batches)
  }

  test("a stream is aggregated".tag(SparkSuite.Nightly)) {
    def job(source: Source) = {
      send(source)
      val counts = stream(source).groupBy("country").count().writeStream.format("memory")
      val query = counts.queryName(s"counts_${source.table}").outputMode("complete")
      query.trigger(Trigger.AvailableNow()).start().awaitTermination()
      spark.table(s"counts_${source.table}")
    }
    assertEquals(same(job).size, 3)
  }

  test("each batch of a stream is written by a function".tag(SparkSuite.Nightly)) {
    send(ours)
    val write: (Dataset[Row], Long) => Unit = (batch, _) => ours.write(batch)
    val query = stream(ours).writeStream.foreachBatch(write)
    query
      .option("checkpointLocation", s"${ours.path}-c")
      .trigger(Trigger.AvailableNow())
      .start()
      .awaitTermination()
    assertEquals(rows(ours.read()), rows(residents()))
  }
}
