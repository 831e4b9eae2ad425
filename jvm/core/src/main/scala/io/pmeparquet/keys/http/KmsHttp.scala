package io.pmeparquet.keys.http

import java.io.{ByteArrayInputStream, IOException}
import java.net.{URI, URISyntaxException}
import java.net.http.{HttpClient, HttpRequest, HttpTimeoutException}
import java.security.cert.{
  CertPathBuilderException,
  CertPathValidatorException,
  CertificateException,
  CertificateFactory
}
import java.security.KeyStore
import java.time.Duration
import java.util.concurrent.{ExecutionException, ThreadLocalRandom, TimeUnit, TimeoutException}
import javax.net.ssl.{SSLContext, SSLException, TrustManagerFactory}

import scala.annotation.tailrec

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.MissingNode

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * Calls a KMS that speaks JSON over HTTP: tries again with growing pauses where that may help, and gives up after a
 * number of attempts or a time, whichever comes first. Serves several threads.
 *
 * @param kms what messages call it; holds no secret
 * @param timeoutMillis all that one call may take, pauses included
 * @param authorities certificates in PEM that are trusted in place of the JVM's
 * @param isDirect whether no proxy is used, though the JVM has one
 */
private[pmeparquet] final class KmsHttp(
    kms: String,
    timeoutMillis: Long,
    authorities: Option[Array[Byte]] = None,
    clock: KmsHttp.Clock = KmsHttp.SystemClock,
    isDirect: Boolean = false
) {
  import KmsHttp._

  private val client = {
    val builder = HttpClient
      .newBuilder()
      .version(HttpClient.Version.HTTP_1_1)
      // By hand, below: the client would carry a token to any host, and in the clear.
      .followRedirects(HttpClient.Redirect.NEVER)
      .connectTimeout(Duration.ofMillis(timeoutMillis))
    authorities.foreach(pem => builder.sslContext(trusting(pem, kms)))
    if (isDirect) builder.proxy(HttpClient.Builder.NO_PROXY)
    builder.build()
  }

  /**
   * @param isFinal answers to give up at, though their status says that another attempt may help
   * @return the answer, whatever its status, unless that stayed one of `Transient`
   * @throws io.pmeparquet.PmeException where there was no answer, or none but that the KMS is busy
   */
  def call(where: String, request: Request)(isFinal: Answer => Boolean): Answer =
    call(request, PmeErrors.kmsUnavailable(where, _, _))(isFinal)

  /**
   * @param unserved makes the failure of why there was no answer
   * @param leftMillis what is left of `timeoutMillis`, where the call is a part of one that began before
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

  /** A server that stands by sends on to the one that is active: once, and to where tokens may go. */
  private def sendOn(request: Request, deadline: Long, unserved: Unserved): Either[IOException, Answer] =
    send(request, deadline, unserved) match {
      case Right(answer) if SentOn(answer.status) =>
        answer.location.filter(request.maySendOnTo) match {
          case Some(uri) => send(request.to(uri), deadline, unserved)
          case None =>
            throw unserved(s"$kms sends on to an address that is not to be trusted with a token", null)
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
    unserved(s"$kms did not serve $attempts attempts: $problem", last.left.toOption.orNull)
  }

  private def send(request: Request, deadline: Long, unserved: Unserved): Either[IOException, Answer] = {
    val left = deadline - clock.millis()
    def late(cause: Throwable) = unserved(s"$kms gave no answer within ${timeoutMillis / 1000} s", cause)
    if (left <= 0) throw late(null)
    // As a whole: the client's own limit ends where the body of an answer begins.
    val exchange = client.sendAsync(request.toJdk(left), LimitedBody.Handler)
    try {
      val response = exchange.get(left, TimeUnit.MILLISECONDS)
      def header(name: String) = response.headers().firstValue(name).orElse("")
      Right(
        new Answer(
          response.statusCode(),
          parsed(response.body()),
          millisOf(header("Retry-After")),
          uriOf(header("Location"))
        )
      )
    } catch {
      case slow: TimeoutException => throw late(slow)
      case failed: ExecutionException =>
        failed.getCause match {
          case slow: HttpTimeoutException => throw late(slow)
          case untrusted: SSLException if isUntrusted(untrusted) =>
            throw unserved(s"$kms shows no certificate that is trusted", untrusted)
          case failed: IOException => Left(failed)
          case other => throw unserved(s"$kms gave an answer that is none", other)
        }
      case interrupted: InterruptedException => throw stopped(interrupted, unserved)
    } finally exchange.cancel(true)
  }
}

private[pmeparquet] object KmsHttp {

  /** Makes the failure of a call: why, as part of a sentence, and the cause. */
  type Unserved = (String, Throwable) => Throwable

  /** @param bytes they may hold a secret */
  final class Body(val contentType: String, val bytes: Array[Byte])

  object Body {
    def json(node: JsonNode): Body = new Body("application/json", Json.writeValueAsBytes(node))
  }

  /**
   * @param headers they may hold a token, and are never part of a message
   * @param body with it the request is a POST, without it a GET
   * @param sentOn whether the server may send it on to another, which gets the headers too
   */
  final class Request(
      uri: URI,
      headers: Seq[(String, String)],
      body: Option[Body],
      sentOn: Boolean = true
  ) {
    def to(other: URI): Request = new Request(other, headers, body, sentOn)

    /** Where it is no less safe than here. */
    def maySendOnTo(other: URI): Boolean =
      sentOn && isSafe(other) && (other.getScheme == "https" || uri.getScheme == "http")

    def toJdk(timeoutMillis: Long): HttpRequest = {
      val builder = HttpRequest
        .newBuilder(uri)
        .timeout(Duration.ofMillis(timeoutMillis))
      headers.foreach { case (name, value) =>
        // The client's own message would repeat the value.
        try builder.header(name, value)
        catch {
          case _: IllegalArgumentException => throw new IllegalStateException(s"internal error: header $name")
        }
      }
      body.foreach { sent =>
        builder.header("Content-Type", sent.contentType)
        builder.POST(HttpRequest.BodyPublishers.ofByteArray(sent.bytes))
      }
      builder.build()
    }
  }

  /** @param body an answer that is no JSON, or too long to be one of a KMS, has none */
  final class Answer(
      val status: Int,
      val body: JsonNode,
      val retryAfterMillis: Option[Long],
      val location: Option[URI]
  ) {
    def text(path: String*): Option[String] =
      Some(path.foldLeft(body)(_.path(_))).filter(_.isTextual).map(_.asText)
  }

  trait Clock {
    def millis(): Long
    def sleep(millis: Long): Unit
  }

  object SystemClock extends Clock {
    override def millis(): Long = System.nanoTime() / 1000000
    override def sleep(millis: Long): Unit = Thread.sleep(millis)
  }

  val Json = new ObjectMapper

  /** Statuses after which another attempt may be answered otherwise. 412: a replica that lags behind. */
  val Transient: Set[Int] = Set(412, 429, 500, 502, 503, 504)

  private val SentOn = Set(307, 308)

  val MaxAttempts = 6

  /** Whether a token may go there: encrypted, or not over a network. */
  def isSafe(uri: URI): Boolean =
    uri.getHost != null && (uri.getScheme == "https" || (uri.getScheme == "http" && isLoopback(uri.getHost)))

  def isLoopback(host: String): Boolean =
    host == "localhost" || host == "[::1]" || host.matches("127(\\.\\d{1,3}){3}")
  private val FirstPauseMillis = 100L

  /** Doubled each time, and spread, so that those who were refused together do not come back together. */
  private def pauseAfter(attempt: Int): Long = {
    val longest = FirstPauseMillis << (attempt - 1)
    longest / 2 + ThreadLocalRandom.current().nextLong(longest / 2 + 1)
  }

  private def parsed(body: Array[Byte]): JsonNode =
    try Json.readTree(body)
    catch { case _: IOException => MissingNode.getInstance }

  private def uriOf(location: String): Option[URI] =
    try Some(new URI(location)).filter(_.isAbsolute)
    catch { case _: URISyntaxException => None }

  private def isUntrusted(failed: SSLException) = PmeException.causes(failed).exists {
    case _: CertificateException | _: CertPathBuilderException | _: CertPathValidatorException => true
    case _ => false
  }

  /** Of a number of seconds; for a date the usual pauses do. */
  private def millisOf(retryAfter: String): Option[Long] =
    Some(retryAfter).filter(_.matches("\\d{1,6}")).map(_.toLong * 1000)

  private def nameOf(failed: Throwable) =
    PmeException.causes(failed).lastOption.fold("")(_.getClass.getSimpleName)

  private def trusting(pem: Array[Byte], kms: String): SSLContext = {
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
    PmeErrors.kmsUnavailable(kms, "the file of its CA holds no certificates in PEM", cause)
}
