package io.pmeparquet.keys.vault

import java.util.{Base64, Locale}

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import io.pmeparquet.{AesKey, PmeErrors, PmeException, Secret}
import io.pmeparquet.keys.http.KmsHttp
import io.pmeparquet.keys.http.KmsHttp.Answer
import io.pmeparquet.keys.Kms

/**
 * `kms=vault`: HashiCorp Vault's or OpenBao's transit engine. A master-key id is the name of a transit key; a wrapped key
 * is Vault's ciphertext, `vault:v1:…`, made without associated data, which `rewrap` could not keep.
 */
final class VaultKms(settings: VaultSettings, clock: KmsHttp.Clock = KmsHttp.SystemClock) extends Kms {
  import VaultApi.says
  import VaultKms._

  private val api = new VaultApi(settings, clock)
  private val tokens = new VaultTokens(api, settings.login, clock)

  override def describe: String = api.describe
  override def instanceUrl: String = settings.address

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    wrappedBy(
      "encrypt",
      "plaintext" -> Base64.getEncoder.encodeToString(key.insecureBytes),
      masterKeyId,
      where
    )

  override def rewrap(wrapped: String, masterKeyId: String, where: String): Option[String] =
    Some(wrappedBy("rewrap", "ciphertext" -> wrapped, masterKeyId, where))

  private def wrappedBy(call: String, input: (String, String), masterKeyId: String, where: String): String = {
    val answer = granted(transit(call, masterKeyId, VaultApi.body(input), where), masterKeyId, where)
    answer.text("data", "ciphertext").getOrElse(throw api.strange(answer, where))
  }

  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey = {
    val answer = granted(
      transit("decrypt", masterKeyId, VaultApi.body("ciphertext" -> wrapped), where),
      masterKeyId,
      where
    )
    keyOf(answer.text("data", "plaintext"), answer, where)
  }

  override def unwrapAll(
      wrapped: Seq[String],
      masterKeyId: String,
      where: String
  ): Seq[Either[PmeException, AesKey]] =
    if (wrapped.size == 1) super.unwrapAll(wrapped, masterKeyId, where)
    else Kms.inBatches(wrapped, MostInBatch)(batch(_, masterKeyId, where))

  /** Keys that can be exported are for other uses. */
  override def directKey(id: String, where: String): Option[AesKey] = None

  private def batch(wrapped: Seq[String], keyId: String, where: String): Seq[Either[PmeException, AesKey]] = {
    val body = VaultApi.body()
    val input = body.putArray("batch_input")
    wrapped.foreach(one => input.addObject().put("ciphertext", one))
    val answer = transit("decrypt", keyId, body, where)
    val results = answer.body.path("data").path("batch_results").elements.asScala.toSeq
    if (results.size != wrapped.size) {
      granted(answer, keyId, where)
      throw api.strange(answer, where)
    }
    results.map { result =>
      val error = result.path("error").asText("")
      if (error.nonEmpty)
        Left(refusal(Seq(error.toLowerCase(Locale.ROOT)), keyId, where).getOrElse(api.strange(answer, where)))
      else
        try Right(keyOf(Option(result.get("plaintext")).filter(_.isTextual).map(_.asText), answer, where))
        catch { case failed: PmeException => Left(failed) }
    }
  }

  private def keyOf(plaintext: Option[String], answer: Answer, where: String): AesKey = {
    val text = plaintext.getOrElse(throw api.strange(answer, where))
    val bytes =
      try Base64.getDecoder.decode(text)
      catch { case _: IllegalArgumentException => throw api.strange(answer, where) }
    AesKey.of(bytes, where)
  }

  private def transit(what: String, keyId: String, body: ObjectNode, where: String): Answer = {
    // It becomes a part of the path of a request.
    if (!keyId.matches(KeyName)) throw PmeErrors.keyNotFound(where, keyId, describe)
    def ask(token: Secret) = api.send(Seq(settings.mount, what, keyId), Some(token), Some(body))(where)
    val token = tokens.token(where)
    val first = ask(token)
    if (first.status != Forbidden) first
    else if (refusesToken(first)) ask(tokens.after(token, where))
    else tokens.afterIfOver(token, where).fold(first)(ask)
  }

  /** Newer Vaults say so. Of older ones it must be asked: they answer this as they answer a key that is not allowed. */
  private def refusesToken(answer: Answer) =
    says(answer, "invalid token", "bad token", "missing client token")

  private def granted(answer: Answer, keyId: String, where: String): Answer = answer.status match {
    case Ok => answer
    case Forbidden if refusesToken(answer) => throw tokens.refusal(where)
    // What stands before Vault may forbid as well, and that is no word about a key.
    case Forbidden if says(answer, "permission denied") =>
      throw PmeErrors.keyDenied(where, keyId, describe, null)
    case NotFound if says(answer, "no handler for route", "unsupported path") =>
      throw PmeErrors.kmsUnavailable(where, s"$describe has no transit engine at '${settings.mount}'")
    case _ => throw refusal(VaultApi.errors(answer), keyId, where).getOrElse(api.strange(answer, where))
  }

  /** What the transit engine says of a key or a wrapped key, in small letters. */
  private def refusal(errors: Seq[String], keyId: String, where: String): Option[PmeException] = {
    def say(words: String*) = errors.exists(error => words.exists(error.contains(_)))
    if (say("key not found", "no such key")) Some(PmeErrors.keyNotFound(where, keyId, describe))
    // Versions that a key no longer decrypts with.
    else if (say("disallowed by policy", "key version"))
      Some(PmeErrors.keyNotFound(where, s"$keyId, in the version that wrapped this", describe))
    else if (say("authentication failed", "invalid ciphertext", "unable to decrypt"))
      Some(PmeErrors.wrappedKeyNotAuthentic(where, keyId))
    else None
  }
}

private object VaultKms {
  val Ok = 200
  val Forbidden = 403
  val NotFound = 404

  /** As many keys as one request asks for. */
  val MostInBatch = 250

  /** What Vault lets a key be called. */
  val KeyName: String = "\\w(?:[\\w.-]*\\w)?"
}
