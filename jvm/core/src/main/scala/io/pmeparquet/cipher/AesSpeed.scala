package io.pmeparquet.cipher

import java.lang.management.ManagementFactory

import io.pmeparquet.AesKey

/**
 * How fast a thread of this JVM opens AES-GCM modules.
 *
 * @param gigabytesPerSecond of plaintext, in CPU time of the thread
 */
final case class AesSpeed(keyBits: Int, moduleBytes: Int, gigabytesPerSecond: Double)

object AesSpeed {

  /** Common sizes of pages. */
  val ModuleSizes: Seq[Int] = Seq(1024 * 1024, 64 * 1024)

  /** Measures for at most about 1.5 seconds, including the time of the compiler, if the JVM has the optimizing one. */
  def measure(provider: CryptoProvider): Seq[AesSpeed] = {
    val isCompiled = AesHardware.hasCompiler
    if (isCompiled) WarmUp.run(provider, WarmUpNanos)
    val patience = System.nanoTime() + (if (isCompiled) PatienceNanos else 0)
    // The JVM discards code compiled for short modules when it meets a long one, so long ones come first.
    for (bits <- Seq(128, 256); size <- ModuleSizes)
      yield AesSpeed(bits, size, best(provider, bits, size, patience))
  }

  /**
   * The best of some rounds: other load and the compiler can only make a round slower.
   *
   * @param patience how long to wait for slow code to be compiled
   */
  private def best(provider: CryptoProvider, bits: Int, size: Int, patience: Long): Double = {
    val cipher = new AesGcm(AesKey.of(new Array[Byte](bits / 8), "speed"), provider)
    val module = cipher.seal(new Array[Byte](size), aad, aad.length, new java.security.SecureRandom)
    val nonceAt = ModuleFrame.LengthBytes
    val out = new Array[Byte](size)
    val end = cpuNanos() + SizeNanos
    var best = 0.0
    while (cpuNanos() < end || (best < CompiledGigabytesPerSecond && System.nanoTime() < patience)) {
      val began = cpuNanos()
      var bytes = 0L
      while (cpuNanos() - began < RoundNanos) {
        cipher.open(module, nonceAt, module.length - nonceAt, aad, aad.length, out, 0)
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

  /** Faster than any interpreted code. */
  private val CompiledGigabytesPerSecond = 0.5

  private val WarmUpNanos = 250L * 1000 * 1000
  private val PatienceNanos = 1000L * 1000 * 1000
  private val SizeNanos = 60L * 1000 * 1000
  private val RoundNanos = 10L * 1000 * 1000
}
