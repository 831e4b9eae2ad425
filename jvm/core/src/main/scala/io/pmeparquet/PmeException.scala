package io.pmeparquet

import java.io.InterruptedIOException
import java.nio.channels.ClosedByInterruptException

/**
 * Every failure that users can cause or fix.
 *
 * It is a checked exception on purpose: with `ignoreCorruptFiles` Spark skips files on `RuntimeException` and
 * `IOException`, and it must not skip a file whose key is missing, or a planted plaintext file.
 *
 * @param problem ''where: what happened: why. What to do.'', without any key, secret or tag
 */
class PmeException(val condition: Condition, val problem: String, cause: Throwable = null)
    extends Exception(s"[${condition.name}] $problem", cause) {

  /** A cached failure for another caller: it names the file or job of that caller. */
  private[pmeparquet] def movedTo(where: String, from: String): PmeException =
    if (where == from || !problem.startsWith(from)) this
    else new PmeException(condition, where + problem.stripPrefix(from), getCause)

  /** The condition's name, for Spark 4. */
  def getCondition(): String = condition.name

  /** The condition's name, for Spark 3. */
  def getErrorClass(): String = condition.name
}

object PmeException {

  /** The first of our exceptions in the chain of causes: Spark and Parquet wrap exceptions. */
  def find(failure: Throwable): Option[PmeException] =
    causes(failure).collectFirst { case ours: PmeException => ours }

  /** A failure and its causes, outermost first; bounded, because chains can be circular. */
  def causes(failure: Throwable): Seq[Throwable] =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(MaxCauses).toList

  /** The first line of the message of somebody else's exception: Spark and HDFS append stack traces to messages. */
  def firstLine(failure: Throwable): String = String.valueOf(failure.getMessage).takeWhile(_ != '\n').trim

  /** Whether the thread was cancelled and nothing failed. */
  def isOfCancelled(failure: Throwable): Boolean = causes(failure).exists {
    case _: InterruptedException | _: ClosedByInterruptException => true
    // Subclasses mean a slow server: SocketTimeoutException, and similar exceptions of HTTP clients.
    case failed: InterruptedIOException => failed.getClass == classOf[InterruptedIOException]
    case _ => false
  }

  private val MaxCauses = 50
}
