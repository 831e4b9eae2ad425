package io.pmeparquet.snapshot.manifest

import java.nio.charset.StandardCharsets.US_ASCII
import java.security.{MessageDigest, SecureRandom}
import javax.crypto.spec.SecretKeySpec
import javax.crypto.Mac

import io.pmeparquet.{AesKey, PmeErrors, Sha256}
import io.pmeparquet.keys.{KeySource, PublicKeys, SigningKey}

/** Makes the seals of manifests. ''Driver only.'' */
trait Sealer {

  /** @param content the first line of the manifest */
  def seal(content: Array[Byte], where: String): SealLine
}

/** Signs. Anyone who has only the public key can verify, and cannot sign. */
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
 * Makes HMACs under a random key that the master key of footers wraps. Anyone who can use that master key can make one.
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

/** What is sealed, and how (docs/snapshot-format.md). */
private[snapshot] object Seals {
  val Hmac = "HMAC-SHA256"

  /** The names in manifests, which are those of JCA. */
  val Signatures: Seq[String] = Seq(PublicKeys.Ed25519, PublicKeys.EcdsaP256)

  /** The message of a signature or HMAC. It is short, as the APIs of clouds ask. */
  def message(content: Array[Byte]): Array[Byte] =
    s"pme-parquet snapshot 1\n${Sha256.hex(Sha256.ofBytes(content))}".getBytes(US_ASCII)

  /** A new key of an HMAC: it names its use, so that no key of a file, which is random, is one. */
  def newKey(random: SecureRandom, where: String): AesKey = {
    val secret = new Array[Byte](SecretBytes)
    random.nextBytes(secret)
    AesKey.of(Use ++ secret, where)
  }

  /** Whether a key was made by [[newKey]]. */
  def isOfSeals(key: AesKey): Boolean = {
    val bytes = key.insecureBytes
    bytes.length == Use.length + SecretBytes && MessageDigest.isEqual(bytes.take(Use.length), Use)
  }

  def hmac(key: AesKey, content: Array[Byte]): Array[Byte] = {
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(new SecretKeySpec(key.insecureBytes, "HmacSHA256"))
    mac.doFinal(message(content))
  }

  private val Use = "pme snapshot key".getBytes(US_ASCII)
  private val SecretBytes = 16
}
