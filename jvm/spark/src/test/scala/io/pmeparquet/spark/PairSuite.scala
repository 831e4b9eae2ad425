package io.pmeparquet.spark

import org.apache.spark.sql.{DataFrame, DataFrameReader, DataFrameWriter, Row}
import org.apache.spark.sql.execution.FormattedMode

/** The same job through our format and through Spark's own `parquet`, and a comparison of the two. */
abstract class PairSuite extends SparkSuite {

  protected final class Source(format: String, options: Map[String, String], name: String) {
    def path: String = s"$directory/$name"
    def writer(frame: DataFrame, more: (String, String)*): DataFrameWriter[Row] =
      frame.write.format(format).options(options ++ more)
    def write(frame: DataFrame, more: (String, String)*): Unit =
      writer(frame, more: _*).mode("append").save(path)
    def reader(more: (String, String)*): DataFrameReader =
      spark.read.format(format).options(options ++ more)
    def read(more: (String, String)*): DataFrame = reader(more: _*).load(path)
  }

  protected val ours = new Source(SparkSuite.Format, kms + ("footerKey" -> "footer"), "ours")
  protected val theirs = new Source("parquet", Map.empty, "theirs")

  /** Fails unless schema and rows of both are equal, and returns the rows. */
  protected def same(job: Source => DataFrame): Seq[String] = {
    val expected = job(theirs)
    val found = job(ours)
    assertEquals(found.schema, expected.schema)
    assertEquals(rows(found), rows(expected))
    rows(expected)
  }

  protected def plan(frame: DataFrame): String = frame.queryExecution.explainString(FormattedMode)

  /** Twenty people with an address, tags, scores and a few nulls; `country` serves for partitions. */
  protected def residents(start: Long = 0, count: Long = 20): DataFrame = spark
    .range(start, start + count, 1, 2)
    .selectExpr(
      "id",
      "IF(id % 7 = 3, NULL, concat('name-', id)) AS name",
      "concat('ssn-', id % 5) AS ssn",
      "CAST(id * 1.5 AS DECIMAL(10, 2)) AS salary",
      "named_struct('street', concat('street-', id), 'zip', CAST(id AS INT)) AS address",
      "IF(id % 4 = 0, array(), array(concat('tag-', id), NULL)) AS tags",
      "map(concat('k', id), named_struct('score', id / 2)) AS scores",
      "element_at(array('de', 'fr', 'it'), CAST(id % 3 AS INT) + 1) AS country"
    )
}
