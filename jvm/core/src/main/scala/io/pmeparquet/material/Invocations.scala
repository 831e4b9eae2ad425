package io.pmeparquet.material

import java.util.concurrent.atomic.AtomicLong

/**
 * Counts how often this JVM has encrypted with one key and a random nonce of 96 bits. The specification (§4.1.3, from NIST
 * SP 800-38D §8.3) allows 2^32 times in total; beyond that a nonce may repeat, which breaks GCM. This is for keys that wrap
 * keys; parquet-java counts for keys that encrypt the modules of a file.
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
