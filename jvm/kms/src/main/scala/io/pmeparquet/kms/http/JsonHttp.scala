package io.pmeparquet.kms.http

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, IOException}
import java.net.{URI, URISyntaxException}
import java.net.http.{HttpClient, HttpHeaders, HttpRequest, HttpResponse, HttpTimeoutException}
import java.net.http.HttpResponse.{BodyHandler, BodySubscriber}
import java.nio.ByteBuffer
import java.security.cert.{
  CertPathBuilderException,
  CertPathValidatorException,
  CertificateException,
  CertificateFactory
}
import java.security.KeyStore
import java.time.Duration
import java.util
import java.util.concurrent.{
  CompletableFuture,
  CompletionStage,
  ExecutionException,
  Flow,
  ThreadLocalRandom,
  TimeUnit,
  TimeoutException
}
import javax.net.ssl.{SSLContext, SSLException, TrustManagerFactory}

import scala.annotation.tailrec

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.MissingNode

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.keys.KmsCalls

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
      val answer = Answer.of(exchange.get(left, TimeUnit.MILLISECONDS))
      answer.requestIds.foreach(KmsCalls.noteRequest)
      Right(answer)
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

/**
 * @param headers may contain a token, and are never part of a message
 * @param body makes the request a POST; without it, it is a GET, or a DELETE
 * @param sentOn whether the server may redirect it to another one, which also gets the headers
 */
private[pmeparquet] final class Request(
    uri: URI,
    headers: Seq[(String, String)],
    body: Option[Body],
    sentOn: Boolean = true,
    deletes: Boolean = false
) {
  def to(other: URI): Request = new Request(other, headers, body, sentOn, deletes)

  /** Whether it is as safe as this address. */
  def maySendOnTo(other: URI): Boolean =
    sentOn && ServerAddress.isSafe(other) && (other.getScheme == "https" || uri.getScheme == "http")

  def toJdk(timeoutMillis: Long): HttpRequest = {
    val builder = HttpRequest
      .newBuilder(uri)
      .timeout(Duration.ofMillis(timeoutMillis))
    headers.foreach { case (name, value) =>
      // The message of the client would repeat the value.
      try builder.header(name, value)
      catch {
        case _: IllegalArgumentException => throw new IllegalStateException(s"internal error: header $name")
      }
    }
    body.foreach { sent =>
      builder.header("Content-Type", sent.contentType)
      builder.POST(HttpRequest.BodyPublishers.ofByteArray(sent.bytes))
    }
    if (deletes) builder.DELETE()
    builder.build()
  }
}

/** @param bytes may contain a secret */
private[pmeparquet] final class Body(val contentType: String, val bytes: Array[Byte])

private[pmeparquet] object Body {
  def json(node: JsonNode): Body = new Body("application/json", Json.mapper.writeValueAsBytes(node))
}

/** @param body none if the answer is not JSON, or too long for an answer of a KMS */
private[pmeparquet] final class Answer(
    val status: Int,
    val body: JsonNode,
    val retryAfterMillis: Option[Long],
    val location: Option[URI],
    headerIds: Seq[String] = Nil
) {

  /** By which ids the KMS's own log knows the call: AWS and Azure say it in a header, Vault in its answer. */
  def requestIds: Seq[String] = headerIds ++ text("request_id")

  def text(path: String*): Option[String] =
    Some(path.foldLeft(body)(_.path(_))).filter(_.isTextual).map(_.asText)
}

private[pmeparquet] object Answer {
  def of(response: HttpResponse[Array[Byte]]): Answer = new Answer(
    response.statusCode(),
    Json.parsed(response.body()),
    millisOf(header(response.headers(), "Retry-After")),
    uriOf(header(response.headers(), "Location")),
    Seq("x-amzn-RequestId", "x-ms-request-id").map(header(response.headers(), _)).filter(_.nonEmpty)
  )

  private def header(all: HttpHeaders, name: String) = all.firstValue(name).orElse("")

  private def uriOf(location: String): Option[URI] =
    try Some(new URI(location)).filter(_.isAbsolute)
    catch { case _: URISyntaxException => None }

  /** A number of seconds; dates are ignored. */
  private def millisOf(retryAfter: String): Option[Long] =
    Some(retryAfter).filter(_.matches("\\d{1,6}")).map(_.toLong * 1000)
}

private[pmeparquet] object Json {
  val mapper = new ObjectMapper

  /** No node where the bytes are no JSON. */
  def parsed(body: Array[Byte]): JsonNode =
    try mapper.readTree(body)
    catch { case _: IOException => MissingNode.getInstance }
}

/** The body of an answer, unless it is longer than answers of a KMS. */
private final class LimitedBody extends BodySubscriber[Array[Byte]] {
  private val body = new CompletableFuture[Array[Byte]]
  private val bytes = new ByteArrayOutputStream
  private var subscription: Flow.Subscription = _

  override def getBody: CompletionStage[Array[Byte]] = body

  override def onSubscribe(to: Flow.Subscription): Unit = {
    subscription = to
    to.request(Long.MaxValue)
  }

  override def onNext(parts: util.List[ByteBuffer]): Unit = parts.forEach { part =>
    if (bytes.size + part.remaining > LimitedBody.MostBytes) {
      subscription.cancel()
      body.complete(Array.emptyByteArray)
    } else {
      val read = new Array[Byte](part.remaining)
      part.get(read)
      bytes.write(read)
    }
    ()
  }

  override def onError(failed: Throwable): Unit = { body.completeExceptionally(failed); () }
  override def onComplete(): Unit = { body.complete(bytes.toByteArray); () }
}

private object LimitedBody {
  val MostBytes: Int = 4 * 1024 * 1024

  val Handler: BodyHandler[Array[Byte]] = _ => new LimitedBody
}

/** Whose certificates a KMS may show. */
private[http] object Authorities {

  /** @param pem certificates that are trusted in place of the JVM's */
  def trusting(pem: Array[Byte], kms: String): SSLContext = {
    val certificates =
      try CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem))
      catch {
        case bad: CertificateException => throw unusable(kms, bad)
      }
    if (certificates.isEmpty) throw unusable(kms, null)
    val store = KeyStore.getInstance(KeyStore.getDefaultType)
    store.load(null, null)
    certificates.forEach(certificate =>
      store.setCertificateEntry(certificate.hashCode.toHexString, certificate)
    )
    val managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    managers.init(store)
    val context = SSLContext.getInstance("TLS")
    context.init(null, managers.getTrustManagers, null)
    context
  }

  private def unusable(kms: String, cause: Throwable) =
    PmeErrors.kmsUnavailable(kms, "the CA file has no certificates in PEM", cause)

  /** Whether the certificate was the reason. */
  def isUntrusted(failed: SSLException): Boolean = PmeException.causes(failed).exists {
    case _: CertificateException | _: CertPathBuilderException | _: CertPathValidatorException => true
    case _ => false
  }
}
