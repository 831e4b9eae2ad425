package io.pmeparquet.spark

import java.nio.file.Files

import scala.util.control.NonFatal

import org.apache.spark.sql.{DataFrame, DataFrameReader, DataFrameWriter, Row}
import org.apache.spark.sql.execution.FormattedMode

import io.pmeparquet.PmeException

/** The same job through our format and through Spark's own `parquet`, and a comparison of the two. */
abstract class PairSuite extends SparkSuite {

  protected final class Source(val format: String, val options: Map[String, String], name: String) {
    def path: String = s"$directory/$name"

    /** For a table of the catalog. */
    def table: String = s"table_$name"

    /** `USING` and `OPTIONS` of a table in SQL. */
    def clause(more: (String, String)*): String = {
      val listed = (options ++ more).map { case (option, value) => s"'$option' '$value'" }
      s"USING `$format`" + (if (listed.isEmpty) "" else listed.mkString(" OPTIONS (", ", ", ")"))
    }

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
    val all = rows(expected)
    assertEquals(rows(found), all)
    all
  }

  /** The rows, or what failed. */
  protected def outcome(job: => DataFrame): Either[String, Seq[String]] =
    try Right(rows(job))
    catch { case NonFatal(failed) => Left(conditionOf(failed)) }

  /** The condition of the outermost error that has one; otherwise the class of the innermost. */
  protected def conditionOf(failed: Throwable): String = {
    val causes = Iterator.iterate(failed)(_.getCause).takeWhile(_ != null).toList
    causes
      .collectFirst {
        case known: PmeException => known.condition.name
        case PairSuite.Condition(name) => name
      }
      .getOrElse(causes.last.getClass.getName)
  }

  /** Fails unless files are at the path, and each begins and ends as one with an encrypted footer. */
  protected def assertEncrypted(path: String = ours.path): Unit = {
    assert(files(path).nonEmpty)
    files(path).foreach { file =>
      val content = Files.readAllBytes(file)
      for (magic <- Seq(content.take(4), content.takeRight(4)))
        assertEquals(new String(magic, "US-ASCII"), "PARE", file)
    }
  }

  /** What a job gives with our format, and with Spark's own. */
  protected def both[A](job: Source => A): (A, A) = (job(ours), job(theirs))

  /** What the only scan of a query counts while the query runs. */
  protected def metrics(frame: DataFrame): Map[String, Long] = {
    frame.collect()
    val leaves = frame.queryExecution.executedPlan.collectLeaves()
    assertEquals(leaves.size, 1)
    leaves.head.metrics.map { case (name, metric) => name -> metric.value }
  }

  /** How many rows the only scan of a query gives to the rest of its plan. */
  protected def rowsScanned(frame: DataFrame): Long = metrics(frame)("numOutputRows")

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

private object PairSuite {

  /** The condition at the beginning of a message of Spark. The method for it has another name in each Spark. */
  object Condition {
    private val Named = "(?s)\\[([A-Z0-9_.]+)\\].*".r
    def unapply(failed: Throwable): Option[String] = Option(failed.getMessage).collect { case Named(name) =>
      name
    }
  }
}
