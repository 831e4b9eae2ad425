package io.pmeparquet.keys

import java.util.concurrent.atomic.AtomicLong

/**
 * How often this JVM has encrypted under one key with a random nonce of 96 bits. The specification (§4.1.3, after NIST
 * SP 800-38D §8.3) allows 2^32 times in all, beyond which a nonce may repeat and GCM breaks. Of keys that wrap keys;
 * parquet-java counts those that encrypt modules, a file each.
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
