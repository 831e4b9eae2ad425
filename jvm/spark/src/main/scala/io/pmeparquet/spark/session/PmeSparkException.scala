package io.pmeparquet.spark.session

import scala.collection.JavaConverters._

import org.apache.spark.SparkThrowable

import io.pmeparquet.{Audience, PmeException}

/** A [[PmeException]] that Spark, Spark Connect and PySpark can report. */
final class PmeSparkException private (failure: PmeException)
    extends PmeException(failure)
    with SparkThrowable {
  override def getCondition(): String = condition.name
  override def getErrorClass(): String = condition.name
  override def getSqlState(): String = condition.sqlState
  override def isInternalError(): Boolean = false

  /** With the text for Python, if it is another one: over Spark Connect, nothing but the message and these cross. */
  override def getMessageParameters(): java.util.Map[String, String] = {
    val python = textFor(Audience.Python.name)
    (if (python == getMessage) parameters else parameters + ("text.python" -> python)).asJava
  }
}

object PmeSparkException {
  private[pmeparquet] def of(failure: PmeException): PmeSparkException = failure match {
    case ours: PmeSparkException => ours
    case other => new PmeSparkException(other)
  }

  /** Runs a step on the driver or an executor. It throws our failures as Spark's exceptions. */
  private[pmeparquet] def translated[A](step: => A): A =
    try step
    catch { case failed: Throwable => throw PmeException.find(failed).fold(failed)(of) }
}
