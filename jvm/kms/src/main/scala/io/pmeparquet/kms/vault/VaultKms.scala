package io.pmeparquet.kms.vault

import java.util.{Base64, Locale}

import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.{AesKey, PmeErrors, PmeException, Secret}
import io.pmeparquet.keys.Kms
import io.pmeparquet.kms.http.{Answer, JsonHttp}

/**
 * `kms=vault`: the transit engine of HashiCorp Vault or OpenBao. A master-key id is the name of a transit key; a wrapped key
 * is Vault's ciphertext, `vault:v1:…`, without associated data, which `rewrap` would not preserve.
 */
final class VaultKms(settings: VaultSettings, clock: JsonHttp.Clock = JsonHttp.SystemClock) extends Kms {
  import VaultApi.says
  import VaultKms._

  private val api = new VaultApi(settings, clock)
  private val tokens = new VaultTokens(api, settings.login, clock)

  override def describe: String = api.describe
  override def instanceUrl: String = settings.address
  override def takesBatches: Boolean = true

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    one(Encrypt, textOf(key), masterKeyId, where)

  override def wrapAll(
      keys: Seq[AesKey],
      masterKeyId: String,
      where: String
  ): Seq[Either[PmeException, String]] = all(Encrypt, keys.map(textOf), masterKeyId, where)

  override def rewrapAll(
      wrapped: Seq[String],
      masterKeyId: String,
      where: String
  ): Option[Seq[Either[PmeException, String]]] = Some(all(Rewrap, wrapped, masterKeyId, where))

  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey =
    one(Decrypt, wrapped, masterKeyId, where)

  override def unwrapAll(
      wrapped: Seq[String],
      masterKeyId: String,
      where: String
  ): Seq[Either[PmeException, AesKey]] = all(Decrypt, wrapped, masterKeyId, where)

  /** Not even for exportable keys, which are for other uses. */
  override def directKey(id: String, where: String): Option[AesKey] = None

  private def one[A](call: Call[A], input: String, keyId: String, where: String): A = {
    val body = VaultApi.body(call.input -> input)
    val answer = granted(transit(call.name, keyId, body, where), keyId, where)
    outputOf(call, answer.body.path("data"), answer, where)
  }

  private def all[A](
      call: Call[A],
      inputs: Seq[String],
      keyId: String,
      where: String
  ): Seq[Either[PmeException, A]] =
    if (inputs.size == 1) Seq(Kms.answer(one(call, inputs.head, keyId, where)))
    else Kms.inBatches(inputs.grouped(MostInBatch))(batch(call, _, keyId, where))

  private def batch[A](
      call: Call[A],
      inputs: Seq[String],
      keyId: String,
      where: String
  ): Seq[Either[PmeException, A]] = {
    val body = VaultApi.body()
    val items = body.putArray("batch_input")
    inputs.foreach(input => items.addObject().put(call.input, input))
    val answer = transit(call.name, keyId, body, where)
    val results = answer.body.path("data").path("batch_results").elements.asScala.toVector
    if (results.size != inputs.size) {
      granted(answer, keyId, where)
      throw api.strange(answer, where)
    }
    results.map { result =>
      val error = result.path("error").asText("").toLowerCase(Locale.ROOT)
      Kms.answer {
        if (error.isEmpty) outputOf(call, result, answer, where)
        else throw refusal(Seq(error), keyId, where).getOrElse(api.strange(answer, where))
      }
    }
  }

  private def outputOf[A](call: Call[A], result: JsonNode, answer: Answer, where: String): A =
    Some(result.path(call.output))
      .filter(_.isTextual)
      .flatMap(output => call.read(output.asText, where))
      .getOrElse(throw api.strange(answer, where))

  private def transit(what: String, keyId: String, body: ObjectNode, where: String): Answer = {
    // It becomes part of the path of a request.
    if (!keyId.matches(KeyName)) throw PmeErrors.keyNotFound(where, keyId, describe)
    def ask(token: Secret) = api.send(Seq(settings.mount, what, keyId), Some(token), Some(body))(where)
    val token = tokens.token(where)
    val first = ask(token)
    if (first.status != Forbidden) first
    else if (refusesToken(first)) ask(tokens.after(token, where))
    else tokens.afterIfOver(token, where).fold(first)(ask)
  }

  /** Newer versions of Vault report this. Older ones give the same answer as for a key that is not allowed. */
  private def refusesToken(answer: Answer) =
    says(answer, "invalid token", "bad token", "missing client token")

  private def granted(answer: Answer, keyId: String, where: String): Answer = answer.status match {
    case Ok => answer
    case Forbidden if refusesToken(answer) => throw tokens.refusal(where)
    // A proxy before Vault may refuse as well, which does not concern the key.
    case Forbidden if says(answer, "permission denied") =>
      throw PmeErrors.keyDenied(where, keyId, describe, null)
    case NotFound if says(answer, "no handler for route", "unsupported path") =>
      throw PmeErrors.kmsUnavailable(where, s"$describe has no transit engine at '${settings.mount}'")
    case _ => throw refusal(VaultApi.errors(answer), keyId, where).getOrElse(api.strange(answer, where))
  }

  /** The failure for errors of the transit engine about a key or a wrapped key, which are in lower case. */
  private def refusal(errors: Seq[String], keyId: String, where: String): Option[PmeException] = {
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
}

private object VaultKms {
  val Ok = 200
  val Forbidden = 403
  val NotFound = 404

  /** The most keys of one request. */
  val MostInBatch = 250

  /** The names that Vault allows for keys. */
  val KeyName: String = "\\w(?:[\\w.-]*\\w)?"

  /**
   * A call of the transit engine, by the names of its fields.
   *
   * @param read reads the result; none if it is not valid
   */
  final case class Call[A](name: String, input: String, output: String, read: (String, String) => Option[A])

  val Encrypt: Call[String] = Call("encrypt", "plaintext", "ciphertext", (text, _) => Some(text))
  val Rewrap: Call[String] = Call("rewrap", "ciphertext", "ciphertext", (text, _) => Some(text))
  val Decrypt: Call[AesKey] = Call("decrypt", "ciphertext", "plaintext", keyOf)

  def textOf(key: AesKey): String = Base64.getEncoder.encodeToString(key.insecureBytes)

  private def keyOf(plaintext: String, where: String): Option[AesKey] =
    Try(Base64.getDecoder.decode(plaintext)).toOption.map(AesKey.of(_, where))
}
