package io.pmeparquet.snapshot.seal

import java.security.SecureRandom

import io.pmeparquet.keys.{KeySource, SigningKey}
import io.pmeparquet.snapshot.manifest.SealLine
import io.pmeparquet.PmeErrors

/** Makes the seals of manifests. ''Driver only.'' */
trait Sealer {

  /** @param content the first line of the manifest */
  def seal(content: Array[Byte], where: String): SealLine
}

/** Signs. Who has only the public key can verify, and cannot sign. */
final class SignatureSealer(id: String, key: SigningKey) extends Sealer {
  if (!Seals.Signatures.contains(key.algorithm))
    throw PmeErrors.unsupported(
      "option signingKey",
      s"signatures with ${key.algorithm}",
      s"key '$id' is not of a kind that readers accept",
      "Use an Ed25519 key, or an EC key on the curve P-256."
    )

  override def seal(content: Array[Byte], where: String): SealLine =
    SealLine(key.algorithm, id, None, key.sign(Seals.message(content), where))
}

/**
 * Makes HMACs under a random key that the master key of footers wraps. Who can use that master key can make one.
 *
 * @param former the master key of the HMAC of the version before, if it is another one: a second HMAC under it shows
 *   readers who know the version before that its owner changed the key
 */
final class HmacSealer(footerKey: String, keys: KeySource, former: Option[String] = None) extends Sealer {
  override def seal(content: Array[Byte], where: String): SealLine =
    under(footerKey, content, where)
      .copy(former = former.filter(_ != footerKey).map(under(_, content, where)))

  private def under(masterKey: String, content: Array[Byte], where: String) = {
    val key = Seals.newKey(new SecureRandom, where)
    val wrapped = keys.wrap(key, masterKey, where)
    SealLine(Seals.Hmac, masterKey, Some(wrapped), Seals.hmac(key, content))
  }
}
