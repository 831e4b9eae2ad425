package io.pmeparquet.kms.http

import java.io.IOException
import java.net.http.{HttpClient, HttpTimeoutException}
import java.time.Duration
import java.util.concurrent.{ExecutionException, ThreadLocalRandom, TimeUnit, TimeoutException}
import javax.net.ssl.SSLException

import scala.annotation.tailrec

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * Calls a KMS with a JSON API over HTTP. It retries with growing pauses if that may help, up to a number of attempts or a
 * time limit. Thread-safe.
 *
 * @param kms its name in messages; contains no secret
 * @param timeoutMillis time limit of one call, including pauses
 * @param authorities CA certificates in PEM to trust in place of the JVM's
 * @param isDirect whether the JVM's proxy is ignored
 */
private[pmeparquet] final class JsonHttp(
    kms: String,
    timeoutMillis: Long,
    authorities: Option[Array[Byte]] = None,
    clock: JsonHttp.Clock = JsonHttp.SystemClock,
    isDirect: Boolean = false
) {
  import JsonHttp._

  private val client = {
    val builder = HttpClient
      .newBuilder()
      .version(HttpClient.Version.HTTP_1_1)
      // Redirects are handled below: the client would send the token to any host, even unencrypted.
      .followRedirects(HttpClient.Redirect.NEVER)
      .connectTimeout(Duration.ofMillis(timeoutMillis))
    authorities.foreach(pem => builder.sslContext(Authorities.trusting(pem, kms)))
    if (isDirect) builder.proxy(HttpClient.Builder.NO_PROXY)
    builder.build()
  }

  /**
   * @param isFinal answers that are not retried, although their status would allow it
   * @return the answer with any status, except those in `Transient`
   * @throws io.pmeparquet.PmeException if there was no answer, or the KMS stayed busy
   */
  def call(where: String, request: Request)(isFinal: Answer => Boolean): Answer =
    call(request, PmeErrors.kmsUnavailable(where, _, _))(isFinal)

  /**
   * @param unserved creates the failure from the reason
   * @param leftMillis the rest of `timeoutMillis`, if the call is part of an earlier one
   */
  def call(request: Request, unserved: Unserved, leftMillis: Long = timeoutMillis)(
      isFinal: Answer => Boolean
  ): Answer = {
    val deadline = clock.millis() + leftMillis

    @tailrec
    def attempt(number: Int): Answer =
      sendOn(request, deadline, unserved) match {
        case Right(answer) if !Transient(answer.status) || isFinal(answer) => answer
        case other =>
          val pause = other.fold(_ => None, _.retryAfterMillis).getOrElse(pauseAfter(number))
          if (number == MaxAttempts || clock.millis() + pause >= deadline)
            throw givenUp(number, other, unserved)
          rest(pause, unserved)
          attempt(number + 1)
      }
    attempt(1)
  }

  /** A standby server redirects to the active one. Follows one redirect, to an address that may receive tokens. */
  private def sendOn(request: Request, deadline: Long, unserved: Unserved): Either[IOException, Answer] =
    send(request, deadline, unserved) match {
      case Right(answer) if SentOn(answer.status) =>
        answer.location.filter(request.maySendOnTo) match {
          case Some(uri) => send(request.to(uri), deadline, unserved)
          case None =>
            throw unserved(s"$kms redirects to an address that must not receive a token", null)
        }
      case other => other
    }

  private def rest(millis: Long, unserved: Unserved): Unit =
    try clock.sleep(millis)
    catch { case interrupted: InterruptedException => throw stopped(interrupted, unserved) }

  private def stopped(interrupted: InterruptedException, unserved: Unserved) = {
    Thread.currentThread().interrupt()
    unserved(s"waiting for $kms was interrupted", interrupted)
  }

  private def givenUp(attempts: Int, last: Either[IOException, Answer], unserved: Unserved) = {
    val problem = last.fold(
      failed => s"it could not be reached (${nameOf(failed)})",
      answer => s"it answered with status ${answer.status}"
    )
    unserved(s"$kms failed $attempts attempts: $problem", last.left.toOption.orNull)
  }

  private def send(request: Request, deadline: Long, unserved: Unserved): Either[IOException, Answer] = {
    val left = deadline - clock.millis()
    def late(cause: Throwable) = unserved(s"$kms gave no answer within ${timeoutMillis / 1000} s", cause)
    if (left <= 0) throw late(null)
    // For the whole call: the client's own time limit does not include the body of an answer.
    val exchange = client.sendAsync(request.toJdk(left), LimitedBody.Handler)
    try {
      val response = exchange.get(left, TimeUnit.MILLISECONDS)
      Right(Answer.of(response))
    } catch {
      case slow: TimeoutException => throw late(slow)
      case failed: ExecutionException =>
        failed.getCause match {
          case slow: HttpTimeoutException => throw late(slow)
          case untrusted: SSLException if Authorities.isUntrusted(untrusted) =>
            throw unserved(s"$kms has no certificate that is trusted", untrusted)
          case failed: IOException => Left(failed)
          case other => throw unserved(s"$kms gave an answer that cannot be read", other)
        }
      case interrupted: InterruptedException => throw stopped(interrupted, unserved)
    } finally exchange.cancel(true)
  }
}

private[pmeparquet] object JsonHttp {

  /** Creates the failure of a call from the reason, as a clause, and the cause. */
  type Unserved = (String, Throwable) => Throwable

  trait Clock {
    def millis(): Long
    def sleep(millis: Long): Unit
  }

  object SystemClock extends Clock {
    override def millis(): Long = System.nanoTime() / 1000000
    override def sleep(millis: Long): Unit = Thread.sleep(millis)
  }

  /** Statuses after which a retry may succeed. 412: a replica that lags behind. */
  val Transient: Set[Int] = Set(412, 429, 500, 502, 503, 504)

  private val SentOn = Set(307, 308)

  val MaxAttempts = 6

  private val FirstPauseMillis = 100L

  /** Doubles each time, with jitter, so that callers do not retry at the same time. */
  private def pauseAfter(attempt: Int): Long = {
    val longest = FirstPauseMillis << (attempt - 1)
    longest / 2 + ThreadLocalRandom.current().nextLong(longest / 2 + 1)
  }

  private def nameOf(failed: Throwable) =
    PmeException.causes(failed).lastOption.fold("")(_.getClass.getSimpleName)
}
