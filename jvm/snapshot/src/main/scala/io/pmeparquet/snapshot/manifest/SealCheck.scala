package io.pmeparquet.snapshot.manifest

import java.io.ByteArrayInputStream
import java.security.{GeneralSecurityException, MessageDigest, PublicKey}
import java.security.cert.CertificateFactory
import java.util.Base64

import scala.util.Try

import io.pmeparquet.{Condition, PmeErrors, PmeException, Secret}
import io.pmeparquet.columns.KeyNames
import io.pmeparquet.keys.{KeySource, PublicKeys, WrappedKey}

/**
 * Verifies seals. With a public key, only its signatures are accepted; without one, only HMACs. ''Driver only.''
 *
 * @param verifyKey the public key
 * @param footerKey the master key that an HMAC must be under; none for any
 * @param allowedMasterKeys if set, the only master keys that are used
 * @param keys for the key of an HMAC
 */
final class SealCheck(
    verifyKey: Option[PublicKey],
    footerKey: Option[String],
    allowedMasterKeys: Option[KeyNames],
    keys: => KeySource
) {

  /** Whether the read itself says which key seals must be under. */
  def namesKey: Boolean = verifyKey.isDefined || footerKey.isDefined

  /** @throws io.pmeparquet.PmeException `PME_SNAPSHOT_NOT_AUTHENTIC`, or why the KMS does not give the key of an HMAC */
  def require(content: Array[Byte], seal: SealLine, where: String): Unit = (verifyKey, seal.algorithm) match {
    case (Some(key), _) => requireSignature(content, seal, key, where)
    case (None, Seals.Hmac) => requireHmac(content, seal, where)
    case (None, other) if Seals.Signatures.contains(other) =>
      throw PmeErrors.snapshotKeyMissing(where, other, seal.key)
    case _ => throw PmeErrors.snapshotNotAuthentic(where, "its seal has an unknown algorithm")
  }

  /**
   * Requires that the holder of the key of a version sealed the next one. A public key, or a footer key that this read
   * names, verifies each version by itself. Otherwise nothing but the version before says which master key an HMAC must be
   * under.
   *
   * @param content of the next version
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_NOT_AUTHENTIC`
   */
  def requireContinued(before: SealLine, content: Array[Byte], next: SealLine, where: String): Unit =
    if (!namesKey && !SealCheck.isSameKey(before, next)) {
      val former = next.former.filter(SealCheck.isSameKey(before, _)).getOrElse {
        throw PmeErrors.snapshotNotAuthentic(
          where,
          s"its seal is ${shown(next.algorithm)} under key '${shown(next.key)}', and that of the version before is " +
            s"${shown(before.algorithm)} under key '${shown(before.key)}', whose holder did not confirm the change"
        )
      }
      requireHmac(content, former, where)
    }

  private def requireSignature(content: Array[Byte], seal: SealLine, key: PublicKey, where: String): Unit = {
    val algorithm = PublicKeys.algorithmOf(key).getOrElse("no signature")
    if (seal.algorithm != algorithm)
      throw PmeErrors.snapshotNotAuthentic(
        where,
        s"its seal is of kind '${shown(seal.algorithm)}', but verifyKey verifies $algorithm"
      )
    if (!verifies(content, seal, key, algorithm))
      throw PmeErrors.snapshotNotAuthentic(where, "verifyKey does not verify its signature")
  }

  private def verifies(content: Array[Byte], seal: SealLine, key: PublicKey, algorithm: String) =
    // Java accepts bytes after an Ed25519 signature.
    (algorithm != PublicKeys.Ed25519 || seal.value.length == Ed25519Bytes) &&
      PublicKeys.verifies(key, Seals.message(content), seal.value)

  private def requireHmac(content: Array[Byte], seal: SealLine, where: String): Unit = {
    footerKey.filter(_ != seal.key).foreach { asked =>
      throw PmeErrors.snapshotNotAuthentic(
        where,
        s"its HMAC is under master key '${shown(seal.key)}', but the footer key of this read is '$asked'"
      )
    }
    if (!allowedMasterKeys.forall(_.contains(seal.key)))
      throw PmeErrors.snapshotNotAuthentic(
        where,
        s"its HMAC is under master key '${shown(seal.key)}', which footerKey and columnKeys do not name"
      )
    val wrapped = seal.wrappedKey.getOrElse {
      throw PmeErrors.snapshotDamaged(where, "its seal has no wrapped key")
    }
    val key = keys.unwrap(Seq(WrappedKey(seal.key, wrapped, None)), where).head match {
      case Right(lent) => lent.key
      case Left(refused) if refused.condition == Condition.NotAuthentic =>
        throw PmeErrors.snapshotNotAuthentic(where, "the KMS does not unwrap the key of its HMAC", refused)
      case Left(refused) if refused.condition == Condition.KeyMetadata =>
        throw PmeErrors.snapshotDamaged(where, "the wrapped key of its HMAC is malformed", refused)
      case Left(refused) => throw refused
    }
    if (!Seals.isOfSeals(key))
      throw PmeErrors.snapshotNotAuthentic(where, "the key of its HMAC is not one that seals are made with")
    if (!MessageDigest.isEqual(Seals.hmac(key, content), seal.value))
      throw PmeErrors.snapshotNotAuthentic(where, "its HMAC does not match")
  }

  private def shown(text: String) = text.take(MostShown)

  private val Ed25519Bytes = 64
  private val MostShown = 100
}

object SealCheck {

  /** Whether two HMACs are under the same master key. */
  private[snapshot] def isSameKey(one: SealLine, other: SealLine): Boolean =
    one.algorithm == Seals.Hmac && other.algorithm == Seals.Hmac && one.key == other.key
}

/** The public key that verifies snapshots. */
object VerifyKey {

  /**
   * A public key from PEM: `PUBLIC KEY` (`SubjectPublicKeyInfo`, RFC 5280), or the key of a `CERTIFICATE`, whose names
   * and dates do not count.
   *
   * @param option the option that refers to it, for messages
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def ofPem(option: String, text: Secret): PublicKey = {
    def unusable(why: String): PmeException = PmeErrors.badVerifyKey(option, why)
    val key = Block.findAllMatchIn(text.insecureValue).toList match {
      case List(block) =>
        val bytes =
          Try(Base64.getMimeDecoder.decode(block.group(2)))
            .getOrElse(throw unusable("its block is not base64"))
        if (block.group(1) == Certificate) ofCertificate(bytes) else PublicKeys.parse(bytes)
      case Nil => throw unusable("it has no PEM block PUBLIC KEY or CERTIFICATE")
      case _ => throw unusable("it has more than one key")
    }
    key.getOrElse(throw unusable(s"its key is not ${PublicKeys.Supported}"))
  }

  private def ofCertificate(bytes: Array[Byte]): Option[PublicKey] =
    try {
      val certificate =
        CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(bytes))
      PublicKeys.parse(certificate.getPublicKey.getEncoded)
    } catch { case _: GeneralSecurityException => None }

  private val Certificate = "CERTIFICATE"
  private val Block = s"-----BEGIN (PUBLIC KEY|$Certificate)-----\\s*([A-Za-z0-9+/=\\s]+)-----END \\1-----".r
}
