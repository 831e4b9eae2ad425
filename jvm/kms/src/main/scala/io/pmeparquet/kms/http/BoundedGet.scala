package io.pmeparquet.kms.http

import java.net.http.{HttpClient, HttpRequest}
import java.net.URI
import java.time.Duration
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

/** Reads a small file by HTTP, without credentials, redirects or retries. */
private[pmeparquet] object BoundedGet {
  private val TimeoutMillis = 10000L
  private val Found = 200
  private val Missing = 404

  /** @return the bytes, none if the server says that there are none, or why it is not known, as a clause */
  def found(address: String, maxBytes: Int): Either[String, Option[Array[Byte]]] = {
    val client = HttpClient
      .newBuilder()
      .version(HttpClient.Version.HTTP_1_1)
      .followRedirects(HttpClient.Redirect.NEVER)
      .connectTimeout(Duration.ofMillis(TimeoutMillis))
      .build()
    try {
      val request = HttpRequest.newBuilder(new URI(address)).timeout(Duration.ofMillis(TimeoutMillis)).build()
      val exchange = client.sendAsync(request, LimitedBody.Handler)
      // The client's own time limit does not include the body.
      val answer =
        try exchange.get(TimeoutMillis, TimeUnit.MILLISECONDS)
        finally exchange.cancel(true)
      if (answer.statusCode == Missing) Right(None)
      else if (answer.statusCode != Found) Left(s"the server answered with status ${answer.statusCode}")
      else if (answer.body.isEmpty || answer.body.length > maxBytes)
        Left(s"it is empty or has more than $maxBytes bytes")
      else Right(Some(answer.body))
    } catch {
      case interrupted: InterruptedException =>
        Thread.currentThread().interrupt()
        Left(s"waiting was interrupted (${interrupted.getClass.getSimpleName})")
      case NonFatal(failed) => Left(s"the server could not be reached (${failed.getClass.getSimpleName})")
    }
  }
}
