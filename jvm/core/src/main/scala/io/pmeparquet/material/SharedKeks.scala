package io.pmeparquet.material

import java.security.SecureRandom

import io.pmeparquet.{AesKey, RecentValues}
import io.pmeparquet.keys.{KekSource, KeySource, LentKek}

/**
 * Makes one key-encryption key for each master key and length, for the writes of several processes. ''Driver only.''
 *
 * @param lifetimeMillis how long new writes begin with the same key
 */
final class SharedKeks(
    source: KeySource,
    lifetimeMillis: Long,
    now: () => Long = RecentValues.monotonicMillis
) extends KekSource {
  private val made = new RecentValues[(String, Int), LentKek](SharedKeks.MaxKept, lifetimeMillis, now)
  private val random = new SecureRandom

  override def kek(masterKeyId: String, bits: Int, where: String): LentKek = made.get(masterKeyId -> bits) {
    val key = AesKey.random(bits, random)
    val id = new Array[Byte](KeyMaterial.KekIdBytes)
    random.nextBytes(id)
    new LentKek(id, key, source.wrap(key, masterKeyId, where))
  }

  /** Forgets expired keys. */
  def sweep(): Unit = made.sweep()
}

private object SharedKeks {
  val MaxKept = 10000
}
