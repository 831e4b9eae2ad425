package io.pmeparquet.keys.vault

import java.net.{URI, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import io.pmeparquet.{PmeErrors, PmeException, Secret}
import io.pmeparquet.keys.http.KmsHttp
import io.pmeparquet.keys.http.KmsHttp.{Answer, Body, Request}

/** Vault's HTTP API, version 1, as far as it is needed here: one call, and what its refusals mean. */
private[vault] final class VaultApi(settings: VaultSettings, clock: KmsHttp.Clock) {
  import VaultApi._

  val describe: String = s"Vault at ${settings.address}"
  private val http =
    new KmsHttp(describe, settings.timeoutMillis, settings.authorities.map(_.insecureBytes), clock)

  /** @param path below `/v1/`, its parts not yet encoded */
  def post(path: Seq[String], token: Option[Secret], fields: (String, String)*)(where: String): Answer =
    send(path, token, Some(VaultApi.body(fields: _*)))(where)

  def get(path: Seq[String], token: Secret)(where: String): Answer = send(path, Some(token), None)(where)

  def send(path: Seq[String], token: Option[Secret], body: Option[ObjectNode])(where: String): Answer = {
    val headers = Seq("X-Vault-Request" -> "true") ++
      settings.namespace.map("X-Vault-Namespace" -> _) ++
      token.map("X-Vault-Token" -> _.insecureValue)
    val uri = URI.create(s"${settings.address}/v1/${path.map(encoded).mkString("/")}")
    val answer = http.call(where, new Request(uri, headers, body.map(Body.json)))(isSealed)
    if (isSealed(answer)) throw PmeErrors.kmsUnavailable(where, s"$describe is sealed")
    answer
  }

  /** An answer that is no refusal that Vault's API knows: another server, or something before it. */
  def strange(answer: Answer, where: String): PmeException =
    PmeErrors.kmsUnavailable(
      where,
      s"$describe gave an answer with status ${answer.status} that is none of Vault's transit engine"
    )
}

private[vault] object VaultApi {

  def body(fields: (String, String)*): ObjectNode = {
    val node = KmsHttp.Json.createObjectNode()
    fields.foreach { case (name, value) => node.put(name, value) }
    node
  }

  /** What Vault says went wrong, in small letters. It is compared and never shown. */
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

  /** A part of a path; a mount may have several, and of a key's name a slash is no part. */
  private def encoded(part: String): String =
    part.split("/").map(piece => URLEncoder.encode(piece, UTF_8).replace("+", "%20")).mkString("/")
}
