package io.pmeparquet.keys

import java.util.concurrent.ConcurrentHashMap
import java.util.Base64

import io.pmeparquet.{AesKey, PmeErrors}

/**
 * Gets data keys back. Key-encryption keys are kept for a while, so that the KMS is asked once per distinct one and not
 * once per file and column. One per read scope: what one reader's KMS gave is never seen by another reader.
 *
 * @param lifetimeMillis how long an unwrapped key-encryption key may be used before the KMS is asked again
 */
final class DataKeyUnwrapper(
    kms: Kms,
    lifetimeMillis: Long,
    now: () => Long = () => System.currentTimeMillis
) {
  import DataKeyUnwrapper._

  private val keks = new ConcurrentHashMap[CacheKey, CachedKek]

  /** @param where the file and column the key is of, for messages */
  def unwrap(material: KeyMaterial, where: String): AesKey = material.kek match {
    case None => kms.unwrap(material.wrappedDek, material.masterKeyId, where)
    case Some(kek) =>
      val key = kekOf(kek, material.masterKeyId, where)
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

  private def kekOf(kek: KeyMaterial.Kek, masterKeyId: String, where: String): AesKey = {
    // All that the KMS sees is part of the cache's key, so altered material never meets an honest entry.
    val cached = keks.compute(
      CacheKey(kek.id, kek.wrapped, masterKeyId),
      (_, current) =>
        if (current != null && now() < current.expires) current
        else CachedKek(kms.unwrap(kek.wrapped, masterKeyId, where), now() + lifetimeMillis)
    )
    if (keks.size > MaxCached) keks.values.removeIf(entry => entry.expires <= now())
    cached.key
  }

  private def kekAad(kek: KeyMaterial.Kek, where: String): Array[Byte] =
    try Base64.getDecoder.decode(kek.id)
    catch {
      case bad: IllegalArgumentException =>
        throw PmeErrors.keyMetadata(where, "the id of its key-encryption key is not base64", bad)
    }
}

object DataKeyUnwrapper {
  private final case class CacheKey(kekId: String, wrapped: String, masterKeyId: String)
  private final case class CachedKek(key: AesKey, expires: Long)

  /** Above this many entries, expired ones are swept out. */
  private val MaxCached = 1000
}
