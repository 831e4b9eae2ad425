package io.pmeparquet.keys

import java.util.Base64

import io.pmeparquet.{AesKey, PmeErrors, RecentValues}

/**
 * Gets data keys back. What the KMS unwrapped is kept for a while, so that it is asked once per distinct wrapped key and
 * not once per file, column and look at them. One per read scope: what one reader's KMS gave is never seen by another.
 *
 * @param lifetimeMillis how long a key that the KMS unwrapped may be used before the KMS is asked again
 */
final class DataKeyUnwrapper(
    kms: Kms,
    lifetimeMillis: Long,
    now: () => Long = RecentValues.monotonicMillis
) {
  import DataKeyUnwrapper._

  private val unwrapped = new RecentValues[WrappedKey, AesKey](MaxKept, lifetimeMillis, now)

  /** @param where the file and column the key is of, for messages */
  def unwrap(material: KeyMaterial, where: String): AesKey = material.kek match {
    case None =>
      byKms(WrappedKey(kekId = None, material.wrappedDek, material.masterKeyId), where)
    case Some(kek) =>
      val key = byKms(WrappedKey(Some(kek.id), kek.wrapped, material.masterKeyId), where)
      LocalWrap.unwrap(material.wrappedDek, key.toSecretKey, kekAad(kek, where), where, material.masterKeyId)
  }

  def direct(keyId: String, where: String): AesKey =
    kms.directKey(keyId, where).getOrElse {
      throw PmeErrors.unsupported(
        where,
        s"the data key '$keyId' by name",
        s"keys do not leave ${kms.describe}",
        "Use kms=keystore or kms=static."
      )
    }

  private def byKms(key: WrappedKey, where: String): AesKey =
    unwrapped.get(key)(kms.unwrap(key.wrapped, key.masterKeyId, where))

  private def kekAad(kek: KeyMaterial.Kek, where: String): Array[Byte] =
    try Base64.getDecoder.decode(kek.id)
    catch {
      case bad: IllegalArgumentException =>
        throw PmeErrors.keyMetadata(where, "the id of its key-encryption key is not base64", bad)
    }
}

object DataKeyUnwrapper {

  /** All that the KMS sees, and the id beside it: altered material never meets an honest entry. */
  private final case class WrappedKey(kekId: Option[String], wrapped: String, masterKeyId: String)

  private val MaxKept = 1000
}
