package io.pmeparquet.spark

import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.JavaConverters._

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.keys.KeyGuard

/** Readers to whom the KMS denies some keys, a table for them, and what they see of it. */
abstract class GuardedSuite extends SparkSuite {
  protected val scans = Seq("v1", "v2")
  protected val vectorized = "spark.sql.parquet.enableVectorizedReader"
  protected val lenient = "deniedPredicates" -> "null"

  /** `pii`, which most readers are denied, is the key of a column of each shape. */
  protected val protection = Map(
    "footerKey" -> "footer",
    "columnKeys" -> "pii: ssn, address.street, phones.element.number, tags; pay: salary"
  )

  /** Forty rows in two files of the suite. */
  protected lazy val guarded: String = {
    val path = directory.resolve("guarded").toString
    writeGuarded(content, path)
    path
  }

  /** A column of each shape. */
  protected def content: DataFrame = spark
    .range(0, 40, 1, 2)
    .selectExpr(
      "id",
      "concat('ssn-', id) AS ssn",
      "CASE WHEN id % 4 > 0 THEN id * 2 END AS salary",
      "IF(id % 5 = 0, NULL, struct(concat('street-', id) AS street, concat('city-', id % 3) AS city)) AS address",
      "array(struct('home' AS kind, concat('+', id) AS number)) AS phones",
      "map('key', concat('tag-', id)) AS tags"
    )

  private lazy val local = content.collectAsList() -> content.schema

  /** The same rows for comparisons: Spark needs no job for what it computes of them. */
  protected def expected: DataFrame = spark.createDataFrame(local._1, local._2)

  /** What somebody sees who is denied `pii`. */
  protected def masked: DataFrame = expected.selectExpr(
    "id",
    "CAST(NULL AS string) AS ssn",
    "salary",
    "IF(address IS NULL, NULL, struct(CAST(NULL AS string) AS street, address.city AS city)) AS address",
    "CAST(NULL AS array<struct<kind: string, number: string>>) AS phones",
    "CAST(NULL AS map<string, string>) AS tags"
  )

  protected def writeGuarded(frame: DataFrame, path: String, options: (String, String)*): Unit =
    write(frame, kms ++ protection ++ options, path)

  /** The options of a reader to whom these keys are denied. */
  protected def denied(keys: String*): Map[String, String] = asks(KeyGuard().deny(keys: _*))

  protected def asks(guard: KeyGuard): Map[String, String] =
    guard.options ++ Map("reader" -> "pages", "deniedColumns" -> "null")

  /** The table as somebody reads it to whom `pii` is denied. */
  protected def seen(more: (String, String)*): DataFrame = reader(denied("pii") ++ more).load(guarded)

  /** Lets Spark cache a frame during the block. */
  protected def caching[A](frame: DataFrame)(block: DataFrame => A): A = {
    val cached = frame.cache()
    try block(cached)
    finally {
      cached.unpersist(true)
      ()
    }
  }

  /** Our warnings on the driver during the block. */
  protected def warnings(block: => Any): Seq[String] = {
    val logger = LogManager.getLogger("io.pmeparquet").asInstanceOf[Logger]
    val (appender, level) = (new GuardedSuite.Appender, logger.getLevel)
    appender.start()
    logger.addAppender(appender)
    logger.setLevel(Level.WARN)
    try block
    finally {
      logger.removeAppender(appender)
      logger.setLevel(level)
    }
    appender.messages.asScala.toList
  }

  /** Loses what Spark has cached, which it reads again. */
  protected def loseCachedBlocks(): Unit =
    spark.sparkContext.getPersistentRDDs.values.foreach(_.unpersist(blocking = true))

  /** The rows of a frame as the values of a column. */
  protected def values(frame: DataFrame): Set[Any] = frame.collectAsList().asScala.map(_.get(0)).toSet
}

object GuardedSuite {
  private final class Appender extends AbstractAppender("seen", null, null, true, Property.EMPTY_ARRAY) {
    val messages = new ConcurrentLinkedQueue[String]
    override def append(event: LogEvent): Unit = {
      messages.add(event.getMessage.getFormattedMessage)
      ()
    }
  }
}
