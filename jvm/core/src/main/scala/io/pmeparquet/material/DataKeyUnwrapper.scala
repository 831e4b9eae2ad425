package io.pmeparquet.material

import io.pmeparquet.{AesKey, PmeErrors, RecentValues}
import io.pmeparquet.keys.{KeySource, WrappedKey}

/**
 * Unwraps data keys. It caches what the source unwrapped for the time that the source allows, so that the source is asked
 * once per distinct wrapped key, and not for every file and column. There is one per read scope and JVM, so no reader sees
 * the keys of another.
 *
 * @param mostMillis the longest time for which a key is cached, whatever the source allows
 */
final class DataKeyUnwrapper(
    source: KeySource,
    mostMillis: Long,
    now: () => Long = RecentValues.monotonicMillis
) {
  // The cache key is everything that the KMS sees, and the id: altered material cannot match a valid entry.
  private val unwrapped = new RecentValues[WrappedKey, AesKey](DataKeyUnwrapper.MaxKept, mostMillis, now)
  private val named = new RecentValues[String, AesKey](DataKeyUnwrapper.MaxKept, mostMillis, now)

  /** @param where the file and column of the key, for messages */
  def unwrap(material: KeyMaterial, where: String): AesKey = {
    val key = bySource(material.wrappedKey, where)
    material.kek.fold(key) { kek =>
      LocalWrap.unwrap(
        material.wrappedDek,
        key.toSecretKey,
        KeyMaterial.kekAad(kek.id, where),
        where,
        material.masterKeyId
      )
    }
  }

  /**
   * Asks at once for all keys that will be needed one by one. A refusal is reported when the key is needed.
   */
  def prepare(materials: Seq[KeyMaterial], where: String): Unit = {
    val missing = materials.map(_.wrappedKey).distinct.filter(unwrapped.find(_).isEmpty)
    // Without caching each key would be asked for twice.
    if (missing.size > 1 && mostMillis > 0)
      missing.zip(source.unwrap(missing, where)).foreach {
        case (wrapped, Right(lent)) => unwrapped.put(wrapped, lent.key, lent.millis)
        case _ => ()
      }
  }

  def direct(keyId: String, where: String): AesKey = named.get(keyId) {
    source.directKey(keyId, where).getOrElse {
      throw PmeErrors.unsupported(
        where,
        s"using master key '$keyId' as a data key",
        s"${source.describe} does not give keys out",
        "Use kms=keystore or kms=static."
      )
    }
  }

  /** Removes expired entries. */
  def sweep(): Unit = {
    unwrapped.sweep()
    named.sweep()
  }

  private def bySource(wrapped: WrappedKey, where: String): AesKey = unwrapped.getFor(wrapped) {
    val lent = source.unwrap(Seq(wrapped), where).head.fold(failed => throw failed, identity)
    lent.key -> lent.millis
  }
}

private object DataKeyUnwrapper {
  val MaxKept = 1000
}
