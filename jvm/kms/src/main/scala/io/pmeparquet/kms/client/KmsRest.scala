package io.pmeparquet.kms.client

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.util

import scala.annotation.varargs
import scala.collection.JavaConverters._

import io.pmeparquet.kms.http.{Answer => HttpAnswer, Body, Json, JsonHttp, Request}

/**
 * The HTTP of KMS clients in jars of their own: JSON, further attempts, a time for all of them. Only Java's types stand
 * in what they call, so that one jar serves every Scala version. No server sends a call on to another: clouds do not, and
 * each call holds a token.
 *
 * @param kms what messages call it
 */
final class KmsRest private (kms: String, timeoutMillis: Long, isDirect: Boolean) {
  def this(kms: String, timeoutMillis: Long) = this(kms, timeoutMillis, isDirect = false)

  private val http = new JsonHttp(kms, timeoutMillis, isDirect = isDirect)

  /** @throws KmsFailure `UNAVAILABLE`, where there is no answer before the deadline */
  def get(url: String, headers: util.Map[String, String], deadline: Deadline): KmsRest.Answer =
    call(url, headers, None, deadline.leftMillis)

  /** @throws KmsFailure `UNAVAILABLE`, where there is no answer before the deadline */
  def delete(url: String, headers: util.Map[String, String], deadline: Deadline): KmsRest.Answer =
    call(url, headers, None, deadline.leftMillis, deletes = true)

  /**
   * @param body texts, and maps of texts
   * @throws KmsFailure `UNAVAILABLE`, where there is no answer before the deadline
   */
  def postJson(
      url: String,
      headers: util.Map[String, String],
      body: util.Map[String, _],
      deadline: Deadline
  ): KmsRest.Answer =
    call(url, headers, Some(Body.json(Json.mapper.valueToTree(body))), deadline.leftMillis)

  /** @throws KmsFailure `UNAVAILABLE`, where there is no answer */
  def postForm(url: String, headers: util.Map[String, String], body: String): KmsRest.Answer = {
    val sent = new Body("application/x-www-form-urlencoded", body.getBytes(UTF_8))
    call(url, headers, Some(sent), timeoutMillis)
  }

  private def call(
      url: String,
      headers: util.Map[String, String],
      body: Option[Body],
      leftMillis: Long,
      deletes: Boolean = false
  ): KmsRest.Answer = {
    val request = new Request(URI.create(url), headers.asScala.toSeq, body, sentOn = false, deletes = deletes)
    new KmsRest.Answer(http.call(request, KmsFailure.unavailable(_, _), leftMillis)(_ => false))
  }
}

object KmsRest {

  /** For what answers on this machine only: a proxy of the JVM's would ask its own. */
  def direct(kms: String, timeoutMillis: Long): KmsRest = new KmsRest(kms, timeoutMillis, isDirect = true)

  final class Answer private[kms] (answer: HttpAnswer) {
    def status: Int = answer.status

    /** The text at this path in the answer's JSON; null where there is none. */
    @varargs def text(path: String*): String = answer.text(path: _*).orNull

    /** The texts that objects of the list at this path have in this field. */
    @varargs def texts(field: String, path: String*): util.List[String] =
      at(path).elements.asScala.map(_.path(field)).filter(_.isTextual).map(_.asText).toSeq.asJava

    /** The objects of the list at this path. */
    @varargs def objects(path: String*): util.List[Answer] =
      at(path).elements.asScala
        .filter(_.isObject)
        .map(node => new Answer(new HttpAnswer(answer.status, node, None, None)))
        .toSeq
        .asJava

    /** The texts of the list at this path. */
    @varargs def values(path: String*): util.List[String] =
      at(path).elements.asScala.filter(_.isTextual).map(_.asText).toSeq.asJava

    /** The text, number or truth value at this path, as text; null where there is none. */
    @varargs def value(path: String*): String =
      Some(at(path)).filter(node => node.isValueNode && !node.isNull).map(_.asText).orNull

    private def at(path: Seq[String]) = path.foldLeft(answer.body)(_.path(_))
  }
}
