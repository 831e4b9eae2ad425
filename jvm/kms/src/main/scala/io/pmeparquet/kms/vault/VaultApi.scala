package io.pmeparquet.kms.vault

import java.net.{URI, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import io.pmeparquet.{PmeErrors, PmeException, Secret}
import io.pmeparquet.kms.http.{Answer, Body, Json, JsonHttp, Request}

/** The part of Vault's HTTP API, version 1, that is needed here: one call, and its errors. */
private[vault] final class VaultApi(settings: VaultSettings, clock: JsonHttp.Clock) {
  import VaultApi._

  val describe: String = s"Vault at ${settings.address}"
  private val http =
    new JsonHttp(describe, settings.timeoutMillis, settings.authorities.map(_.insecureBytes), clock)

  /** @param path below `/v1/`, with parts that are not encoded */
  def post(path: Seq[String], token: Option[Secret], fields: (String, String)*)(where: String): Answer =
    send(path, token, Some(VaultApi.body(fields: _*)))(where)

  def get(path: Seq[String], token: Secret)(where: String): Answer = send(path, Some(token), None)(where)

  def delete(path: Seq[String], token: Secret)(where: String): Answer =
    send(path, Some(token), None, deletes = true)(where)

  def send(path: Seq[String], token: Option[Secret], body: Option[ObjectNode], deletes: Boolean = false)(
      where: String
  ): Answer = {
    val headers = Seq("X-Vault-Request" -> "true") ++
      settings.namespace.map("X-Vault-Namespace" -> _) ++
      token.map("X-Vault-Token" -> _.insecureValue)
    val uri = URI.create(s"${settings.address}/v1/${path.map(encoded).mkString("/")}")
    val answer = http.call(where, new Request(uri, headers, body.map(Body.json), deletes = deletes))(isSealed)
    if (isSealed(answer)) throw PmeErrors.kmsUnavailable(where, s"$describe is sealed")
    answer
  }

  /** An answer that Vault's API does not define: from another server, or a proxy. */
  def strange(answer: Answer, where: String): PmeException =
    PmeErrors.kmsUnavailable(
      where,
      s"$describe gave an answer with status ${answer.status} that is not from Vault's transit engine"
    )
}

private[vault] object VaultApi {

  def body(fields: (String, String)*): ObjectNode = {
    val node = Json.mapper.createObjectNode()
    fields.foreach { case (name, value) => node.put(name, value) }
    node
  }

  /** Vault's errors in lower case. They are compared and never shown. */
  def errors(answer: Answer): Seq[String] =
    answer.body
      .path("errors")
      .elements
      .asScala
      .filter(_.isTextual)
      .map(_.asText.toLowerCase(Locale.ROOT))
      .toSeq

  def says(answer: Answer, words: String*): Boolean =
    errors(answer).exists(error => words.exists(word => error.contains(word)))

  private def isSealed(answer: Answer) = answer.status == SealedStatus && says(answer, "sealed")

  private val SealedStatus = 503

  /** A part of a path. A mount may have several; the name of a key has no slash. */
  private def encoded(part: String): String =
    part.split("/").map(piece => URLEncoder.encode(piece, UTF_8).replace("+", "%20")).mkString("/")
}
