package io.pmeparquet.kms.vault

import java.security.PublicKey
import java.util.Base64

import scala.util.Try

import io.pmeparquet.keys.{PublicKeys, SigningKey}
import io.pmeparquet.kms.http.Answer
import io.pmeparquet.PmeErrors

/**
 * A key of the transit engine that signs, in the version that was the newest when it was looked up: `GET keys/<name>` and
 * `POST sign/<name>` of Vault's API.
 */
private[vault] final class VaultSigningKey private (
    transit: VaultTransit,
    id: String,
    version: Int,
    override val publicKey: PublicKey
) extends SigningKey {
  import VaultSigningKey._
  import VaultTransit._

  override val algorithm: String = PublicKeys.algorithmOf(publicKey).get

  override def describe: String = s"version $version of key '$id' of ${transit.describe}"

  override def sign(message: Array[Byte], where: String): Array[Byte] = {
    val body = VaultApi.body("input" -> Base64.getEncoder.encodeToString(message)).put("key_version", version)
    if (algorithm == PublicKeys.EcdsaP256)
      body.put("hash_algorithm", "sha2-256").put("marshaling_algorithm", "asn1").put("prehashed", false)
    val answer = granted(transit.call("sign", id, Some(body), where), where)
    val signature = signatureOf(answer).getOrElse(throw transit.strange(answer, where))
    if (!PublicKeys.verifies(publicKey, message, signature))
      throw PmeErrors.kmsUnavailable(where, s"a signature by $describe does not match its public key")
    signature
  }

  private def granted(answer: Answer, where: String): Answer = {
    // The key may have changed since it was looked up.
    if (answer.status == BadRequest && VaultApi.says(answer, "version"))
      throw PmeErrors.keyUnusable(where, id, s"${transit.describe} does not sign with version $version of it")
    transit.granted(answer, id, where)
  }

  private def signatureOf(answer: Answer): Option[Array[Byte]] =
    answer.text("data", "signature").filter(_.startsWith(s"vault:v$version:")).flatMap { text =>
      decoded(text.stripPrefix(s"vault:v$version:"))
    }
}

private[vault] object VaultSigningKey {
  import VaultTransit._

  private val Ed25519 = "ed25519"
  private val EcdsaP256 = "ecdsa-p256"

  /** @throws io.pmeparquet.PmeException if there is no such key, or it does not sign */
  def of(transit: VaultTransit, id: String, where: String): VaultSigningKey = {
    val answer = transit.call(Keys, id, None, where)
    if (isOfNoKey(answer)) throw PmeErrors.keyNotFound(where, id, transit.describe)
    val data = transit.granted(answer, id, where).body.path("data")
    def strange = transit.strange(answer, where)
    def unusable(why: String) = PmeErrors.keyUnusable(where, id, why)
    val kind = answer.text("data", "type").getOrElse(throw strange)
    if (kind != Ed25519 && kind != EcdsaP256)
      throw unusable(s"its type in ${transit.describe} is neither $Ed25519 nor $EcdsaP256")
    if (data.path("derived").asBoolean)
      throw unusable(s"in ${transit.describe} it is a derived key, which signs only within a context")
    val version = data.path("latest_version").asInt
    val publicKey = answer
      .text("data", "keys", version.toString, "public_key")
      .flatMap(if (kind == Ed25519) ed25519 else pem)
      .getOrElse(throw strange)
    new VaultSigningKey(transit, id, version, publicKey)
  }

  private def ed25519(text: String): Option[PublicKey] = decoded(text).flatMap(PublicKeys.ed25519)

  private def pem(text: String): Option[PublicKey] = text match {
    case Pem(base64) => decoded(base64.replaceAll("\\s", "")).flatMap(PublicKeys.parse)
    case _ => None
  }

  private val Pem = "\\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\\s]*)-----END PUBLIC KEY-----\\s*".r

  private def decoded(base64: String): Option[Array[Byte]] = Try(Base64.getDecoder.decode(base64)).toOption
}
