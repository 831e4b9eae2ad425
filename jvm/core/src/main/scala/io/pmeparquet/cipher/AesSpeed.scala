package io.pmeparquet.cipher

import java.lang.management.ManagementFactory

import io.pmeparquet.AesKey

/**
 * How quickly a thread of this JVM opens AES-GCM modules.
 *
 * @param gigabytesPerSecond of plaintext, in time that the thread had a processor
 */
final case class AesSpeed(keyBits: Int, moduleBytes: Int, gigabytesPerSecond: Double)

object AesSpeed {

  /** Sizes of pages as they are met most. */
  val ModuleSizes: Seq[Int] = Seq(64 * 1024, 1024 * 1024)

  /** Measures for less than a second, the time included that the compiler needs. */
  def measure(provider: CryptoProvider): Seq[AesSpeed] = {
    WarmUp.run(provider, WarmUpNanos)
    for (bits <- Seq(128, 256); size <- ModuleSizes) yield AesSpeed(bits, size, best(provider, bits, size))
  }

  /** The best of some rounds: what else runs on the machine, and the compiler, can only make one slower. */
  private def best(provider: CryptoProvider, bits: Int, size: Int): Double = {
    val cipher = new AesGcm(AesKey.of(new Array[Byte](bits / 8), "speed"), provider)
    val module = cipher.seal(new Array[Byte](size), aad, aad.length, new java.security.SecureRandom)
    val out = new Array[Byte](size)
    val end = cpuNanos() + SizeNanos
    // Where others have the processor most of the time, it is not waited for.
    val latest = System.nanoTime() + LatestNanos
    var best = 0.0
    while (best == 0 || (cpuNanos() < end && System.nanoTime() < latest)) {
      val began = cpuNanos()
      var bytes = 0L
      while (cpuNanos() - began < RoundNanos) {
        cipher.open(module, 0, module.length, aad, aad.length, out, 0)
        bytes += size
      }
      best = best.max(bytes.toDouble / (cpuNanos() - began).max(1))
    }
    best
  }

  private val threads = ManagementFactory.getThreadMXBean

  private def cpuNanos(): Long =
    if (threads.isCurrentThreadCpuTimeSupported) threads.getCurrentThreadCpuTime else System.nanoTime()

  private val aad = new Array[Byte](32)

  private val WarmUpNanos = 250L * 1000 * 1000
  private val SizeNanos = 80L * 1000 * 1000
  private val LatestNanos = 3 * SizeNanos
  private val RoundNanos = 10L * 1000 * 1000
}
