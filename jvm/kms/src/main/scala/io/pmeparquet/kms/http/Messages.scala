package io.pmeparquet.kms.http

import java.io.IOException
import java.net.{URI, URISyntaxException}
import java.net.http.{HttpHeaders, HttpRequest, HttpResponse}
import java.time.Duration

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.MissingNode

/**
 * @param headers may contain a token, and are never part of a message
 * @param body makes the request a POST; without it, it is a GET
 * @param sentOn whether the server may redirect it to another one, which also gets the headers
 */
private[pmeparquet] final class Request(
    uri: URI,
    headers: Seq[(String, String)],
    body: Option[Body],
    sentOn: Boolean = true
) {
  def to(other: URI): Request = new Request(other, headers, body, sentOn)

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
    val location: Option[URI]
) {
  def text(path: String*): Option[String] =
    Some(path.foldLeft(body)(_.path(_))).filter(_.isTextual).map(_.asText)
}

private[pmeparquet] object Answer {
  def of(response: HttpResponse[Array[Byte]]): Answer = new Answer(
    response.statusCode(),
    Json.parsed(response.body()),
    millisOf(header(response.headers(), "Retry-After")),
    uriOf(header(response.headers(), "Location"))
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
