package io.pmeparquet

import java.io.InterruptedIOException
import java.net.SocketTimeoutException
import java.nio.channels.ClosedByInterruptException

/**
 * Every failure that a user can cause or cure.
 *
 * It is a checked exception on purpose: Spark skips files on `RuntimeException` and `IOException` where
 * `ignoreCorruptFiles` is set, and a file whose key is missing, or a plaintext intruder, must not be skipped.
 *
 * @param problem
 *   ''where: what, because why. What to do.'', never with a key, a secret or a tag in it
 */
class PmeException(val condition: Condition, val problem: String, cause: Throwable = null)
    extends Exception(s"[${condition.name}] $problem", cause) {

  /** The condition's name, as Spark 4 asks for it. */
  def getCondition(): String = condition.name

  /** The condition's name, as Spark 3 asks for it. */
  def getErrorClass(): String = condition.name
}

object PmeException {

  /** The first of our exceptions in the chain of causes: Spark and Parquet wrap what is thrown beneath them. */
  def find(failure: Throwable): Option[PmeException] =
    causes(failure).collectFirst { case ours: PmeException => ours }

  /** A failure and its causes, outermost first; bounded, since chains can be circular. */
  def causes(failure: Throwable): Seq[Throwable] =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(MaxCauses).toList

  /** Whether it was the thread that was told to stop, and nothing that failed. */
  def isOfCancelled(failure: Throwable): Boolean = causes(failure).exists {
    // It says that a server was too slow.
    case _: SocketTimeoutException => false
    case _: InterruptedException | _: InterruptedIOException | _: ClosedByInterruptException => true
    case _ => false
  }

  private val MaxCauses = 50
}
