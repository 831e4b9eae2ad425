package io.pmeparquet.keys

import io.pmeparquet.{AesKey, PmeErrors, RecentValues}

/**
 * Gets data keys back. What the source unwrapped is kept for as long as the source says, so that it is asked once per
 * distinct wrapped key and not once per file, column and look at them. One per read scope and JVM: what one reader's KMS
 * gave is never seen by another.
 *
 * @param mostMillis no key is kept longer, whatever the source says
 */
final class DataKeyUnwrapper(
    source: KeySource,
    mostMillis: Long,
    now: () => Long = RecentValues.monotonicMillis
) {
  // By the whole of what the KMS sees, and the id beside it: altered material never meets an honest entry.
  private val unwrapped = new RecentValues[WrappedKey, AesKey](DataKeyUnwrapper.MaxKept, mostMillis, now)
  private val named = new RecentValues[String, AesKey](DataKeyUnwrapper.MaxKept, mostMillis, now)

  /** @param where the file and column the key is of, for messages */
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
   * Asks for all keys at once that will be wanted one by one. What is refused is told to who then wants it.
   */
  def prepare(materials: Seq[KeyMaterial], where: String): Unit = {
    val missing = materials.map(_.wrappedKey).distinct.filter(unwrapped.find(_).isEmpty)
    // What is not to be kept at all would be asked for twice.
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
        s"the data key '$keyId' by name",
        s"keys do not leave ${source.describe}",
        "Use kms=keystore or kms=static."
      )
    }
  }

  /** Forgets what is over. */
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
