package io.pmeparquet

import java.io.InterruptedIOException
import java.nio.channels.ClosedByInterruptException

/**
 * Every failure that users can cause or fix.
 *
 * It is a checked exception on purpose: with `ignoreCorruptFiles` Spark skips files on `RuntimeException` and
 * `IOException`, and it must not skip a file whose key is missing, or a planted plaintext file.
 *
 * No text and no parameter holds a key, a secret or a tag.
 *
 * @param messages ''where: what happened: why.'', by audience
 * @param remedies what to do, by audience; empty if the message has it
 * @param parameters of the message, by name
 */
class PmeException(
    val condition: Condition,
    private val messages: Map[Audience, String],
    private val remedies: Map[Audience, String],
    val parameters: Map[String, String],
    cause: Throwable
) extends Exception(null, cause) {

  /** @param problem ''where: what happened: why. What to do.'', for every audience */
  def this(condition: Condition, problem: String, cause: Throwable = null) =
    this(condition, Audience.all.map(_ -> problem).toMap, Map.empty, Map.empty, cause)

  /** The same failure as another exception. */
  protected def this(same: PmeException) =
    this(same.condition, same.messages, same.remedies, same.parameters, same)

  def message(audience: Audience): String = messages(audience)

  def remedy(audience: Audience): String = remedies.getOrElse(audience, "")

  /** ''where: what happened: why. What to do.'' */
  def problem: String = problem(Audience.current)

  def problem(audience: Audience): String = s"${message(audience)} ${remedy(audience)}".trim

  /** For a front end: the whole text in the words of its users. */
  def textFor(audience: String): String = s"[${condition.name}] ${problem(Audience.named(audience))}"

  override def getMessage: String = s"[${condition.name}] $problem"

  /** A cached failure for another caller: it names the file or job of that caller. */
  private[pmeparquet] def movedTo(where: String, from: String): PmeException =
    if (where == from || !problem.startsWith(from)) this
    else {
      val moved = messages.map { case (by, message) => by -> (where + message.stripPrefix(from)) }
      new PmeException(condition, moved, remedies, parameters, getCause)
    }

  /** The condition's name, for Spark 4. */
  def getCondition(): String = condition.name

  /** The condition's name, for Spark 3. */
  def getErrorClass(): String = condition.name
}

object PmeException {

  /** A failure that another process reports by condition and text; none if there is no such condition. */
  private[pmeparquet] def named(condition: String, text: String): Option[PmeException] =
    Condition.all.find(_.name == condition).map(new PmeException(_, text.stripPrefix(s"[$condition] ")))

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
