package io.pmeparquet.kms.vault

import java.util.{Base64, Locale}

import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.{AesKey, PmeException}
import io.pmeparquet.keys.{KeyAdministration, Kms, SigningKey}
import io.pmeparquet.kms.http.{Answer, JsonHttp}

/**
 * `kms=vault`: the transit engine of HashiCorp Vault or OpenBao. A master-key id is the name of a transit key; a wrapped key
 * is Vault's ciphertext, `vault:v1:…`, without associated data, which `rewrap` would not preserve. The id of a key to sign
 * with is a transit key's name as well.
 */
final class VaultKms(settings: VaultSettings, clock: JsonHttp.Clock = JsonHttp.SystemClock) extends Kms {
  import VaultKms._

  private val transit = new VaultTransit(settings, clock)

  override def describe: String = transit.describe
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

  override def signingKey(id: String, where: String): SigningKey = VaultSigningKey.of(transit, id, where)

  override def administration: Option[KeyAdministration] = Some(new VaultAdministration(transit))

  private def one[A](call: Call[A], input: String, keyId: String, where: String): A = {
    val body = VaultApi.body(call.input -> input)
    val answer = transit.granted(transit.call(call.name, keyId, Some(body), where), keyId, where)
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
    val answer = transit.call(call.name, keyId, Some(body), where)
    val results = answer.body.path("data").path("batch_results").elements.asScala.toVector
    if (results.size != inputs.size) {
      transit.granted(answer, keyId, where)
      throw transit.strange(answer, where)
    }
    results.map { result =>
      val error = result.path("error").asText("").toLowerCase(Locale.ROOT)
      Kms.answer {
        if (error.isEmpty) outputOf(call, result, answer, where)
        else throw transit.refusal(Seq(error), keyId, where).getOrElse(transit.strange(answer, where))
      }
    }
  }

  private def outputOf[A](call: Call[A], result: JsonNode, answer: Answer, where: String): A =
    Some(result.path(call.output))
      .filter(_.isTextual)
      .flatMap(output => call.read(output.asText, where))
      .getOrElse(throw transit.strange(answer, where))
}

private object VaultKms {

  /** The most keys of one request. */
  val MostInBatch = 250

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
