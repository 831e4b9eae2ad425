package io.pmeparquet.spark.session

import org.apache.spark.SparkThrowable

import io.pmeparquet.{Condition, PmeException}

/** A [[PmeException]] that Spark, Spark Connect and PySpark can report. */
final class PmeSparkException(condition: Condition, problem: String, cause: Throwable)
    extends PmeException(condition, problem, cause)
    with SparkThrowable {
  override def getCondition(): String = condition.name
  override def getErrorClass(): String = condition.name
  override def getSqlState(): String = null
  override def isInternalError(): Boolean = false
}

object PmeSparkException {
  def of(failure: PmeException): PmeSparkException = failure match {
    case ours: PmeSparkException => ours
    case other => new PmeSparkException(other.condition, other.problem, other)
  }

  /** Runs a step on the driver or an executor. It throws our failures as Spark's exceptions. */
  def translated[A](step: => A): A =
    try step
    catch { case failed: Throwable => throw PmeException.find(failed).fold(failed)(of) }
}
