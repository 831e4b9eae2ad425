package io.pmeparquet.kms.vault

import com.fasterxml.jackson.databind.node.ObjectNode

import io.pmeparquet.{PmeErrors, PmeException, Secret}
import io.pmeparquet.kms.http.{Answer, JsonHttp}

/** Calls of Vault's transit engine, with a token that is valid, and the engine's errors. */
private[vault] final class VaultTransit(settings: VaultSettings, clock: JsonHttp.Clock) {
  import VaultApi.says
  import VaultTransit._

  private val api = new VaultApi(settings, clock)
  private val tokens = new VaultTokens(api, settings.login, clock)

  def describe: String = api.describe

  /** The path of a key, with the namespace and the mount that it is in. */
  def placeOf(keyId: String): String =
    (Seq(settings.address, "v1") ++ settings.namespace ++ Seq(settings.mount, Keys, keyId)).mkString("/")

  /** @param body makes the request a POST; without it, it is a GET */
  def call(what: String, keyId: String, body: Option[ObjectNode], where: String): Answer =
    asking(keyId, where)(token => api.send(Seq(settings.mount, what, keyId), Some(token), body)(where))

  /** `POST keys/<name>/config`. */
  def configure(keyId: String, body: ObjectNode, where: String): Answer = asking(keyId, where) { token =>
    api.send(Seq(settings.mount, Keys, keyId, "config"), Some(token), Some(body))(where)
  }

  /** `DELETE keys/<name>`. */
  def delete(keyId: String, where: String): Answer =
    asking(keyId, where)(token => api.delete(Seq(settings.mount, Keys, keyId), token)(where))

  private def asking(keyId: String, where: String)(ask: Secret => Answer): Answer = {
    // It becomes part of the path of a request.
    if (!keyId.matches(KeyName))
      throw PmeErrors.keyUnusable(where, keyId, s"no key of $describe can have that name")
    val token = tokens.token(where)
    val first = ask(token)
    if (first.status != Forbidden) first
    else if (refusesToken(first)) ask(tokens.after(token, where))
    else tokens.afterIfOver(token, where).fold(first)(ask)
  }

  /** The answer to a call, if it is not a refusal. */
  def granted(answer: Answer, keyId: String, where: String): Answer = answer.status match {
    case Ok => answer
    case Forbidden if refusesToken(answer) => throw tokens.refusal(where)
    // A proxy before Vault may refuse as well, which does not concern the key.
    case Forbidden if says(answer, "permission denied") =>
      throw PmeErrors.keyDenied(where, keyId, describe, null)
    case NotFound if says(answer, "no handler for route", "unsupported path") =>
      throw PmeErrors.kmsUnavailable(where, s"$describe has no transit engine at '${settings.mount}'")
    case _ => throw refusal(VaultApi.errors(answer), keyId, where).getOrElse(strange(answer, where))
  }

  /** The failure for errors of the transit engine about a key or a wrapped key, which are in lower case. */
  def refusal(errors: Seq[String], keyId: String, where: String): Option[PmeException] = {
    def say(words: String*) = errors.exists(error => words.exists(error.contains(_)))
    if (say("key not found", "no such key")) Some(PmeErrors.keyNotFound(where, keyId, describe))
    // Versions of a key that are no longer allowed to decrypt.
    else if (say("disallowed by policy", "key version"))
      Some(
        PmeErrors
          .keyUnusable(where, keyId, s"$describe no longer decrypts with the version of it that was used")
      )
    else if (say("authentication failed", "invalid ciphertext", "unable to decrypt"))
      Some(PmeErrors.wrappedKeyNotAuthentic(where, keyId))
    else None
  }

  /** The failure for an answer that the transit engine does not define. */
  def strange(answer: Answer, where: String): PmeException = api.strange(answer, where)

  /** Newer versions of Vault report this. Older ones give the same answer as for a key that is not allowed. */
  private def refusesToken(answer: Answer) =
    says(answer, "invalid token", "bad token", "missing client token")
}

private[vault] object VaultTransit {
  val Ok = 200
  val BadRequest = 400
  val Forbidden = 403
  val NotFound = 404

  /** The path of keys themselves. */
  val Keys = "keys"

  /** Vault's answer to a request for what it does not have. */
  def isOfNoKey(answer: Answer): Boolean = {
    val errors = answer.body.path("errors")
    answer.status == NotFound && errors.isArray && errors.isEmpty
  }

  /** The names that Vault allows for keys. */
  val KeyName: String = "\\w(?:[\\w.-]*\\w)?"
}
