package io.pmeparquet.keys

import java.nio.ByteBuffer
import java.security.SecureRandom
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.ConcurrentHashMap

import io.pmeparquet.{AesKey, PmeErrors, Sha256}

/**
 * Counts how often this JVM has encrypted with one key and a random nonce of 96 bits. The specification (§4.1.3, from NIST
 * SP 800-38D §8.3) allows 2^32 times in total; beyond that a nonce may repeat, which breaks GCM. This is for keys of one
 * file or one job; [[KeyUses]] is for those that files share.
 */
final class Invocations(limit: Long = Invocations.Limit) {
  private val used = new AtomicLong

  def total: Long = used.get()

  /** @param where what is being encrypted, for the message */
  def count(where: String): Unit =
    if (used.incrementAndGet() > limit)
      throw new IllegalStateException(s"internal error: $where: a key was used more than $limit times")
}

object Invocations {
  val Limit: Long = 1L << 32
}

/**
 * Counts how often keys of the KMS itself encrypt the modules of files (`keyManagement=direct`): for all jobs of this JVM,
 * whatever each key is called. It keeps no keys.
 */
private[pmeparquet] final class KeyUses(limit: Long = Invocations.Limit) {
  private val salt = new Array[Byte](KeyUses.SaltBytes)
  new SecureRandom().nextBytes(salt)
  private val reserved = new ConcurrentHashMap[ByteBuffer, AtomicLong]

  /**
   * @param uses how many more there will be, or fewer: what a task that fails does not use stays counted
   * @return whether this makes it half of what the key may do
   * @throws io.pmeparquet.PmeException `PME_KEY_NOT_FOUND` if the key may not do them
   */
  def reserve(key: AesKey, id: String, uses: Long, where: String): Boolean = {
    if (uses <= 0) throw new IllegalStateException(s"internal error: $uses uses of a key")
    val fingerprint = ByteBuffer.wrap(Sha256.ofBytes(salt, key.insecureBytes))
    val before = reserved
      .computeIfAbsent(fingerprint, _ => new AtomicLong)
      .getAndUpdate(total => if (uses > limit - total) total else total + uses)
    if (uses > limit - before) throw PmeErrors.keyUsedUp(where, id)
    before + uses >= limit / 2 && before < limit / 2
  }
}

private[pmeparquet] object KeyUses {
  private val SaltBytes = 32

  /** The most that an executor asks for at once. */
  val MostAtOnce: Long = 1L << 20

  /** Of this JVM: of a driver and its executors, if they ask it for keys. */
  val ofJvm: KeyUses = new KeyUses
}
