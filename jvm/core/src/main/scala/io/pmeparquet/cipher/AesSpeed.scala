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
  val ModuleSizes: Seq[Int] = Seq(1024 * 1024, 64 * 1024)

  /** Measures for some 1.5 seconds at most, the time included that the compiler needs. */
  def measure(provider: CryptoProvider): Seq[AesSpeed] = {
    WarmUp.run(provider, WarmUpNanos)
    val patience = System.nanoTime() + PatienceNanos
    // What was compiled for short modules is thrown away when it meets a long one, so these come first.
    for (bits <- Seq(128, 256); size <- ModuleSizes)
      yield AesSpeed(bits, size, best(provider, bits, size, patience))
  }

  /**
   * The best of some rounds: what else runs on the machine, and the compiler, can only make one slower.
   *
   * @param patience until when it is hoped that slow code gets compiled
   */
  private def best(provider: CryptoProvider, bits: Int, size: Int, patience: Long): Double = {
    val cipher = new AesGcm(AesKey.of(new Array[Byte](bits / 8), "speed"), provider)
    val module = cipher.seal(new Array[Byte](size), aad, aad.length, new java.security.SecureRandom)
    val out = new Array[Byte](size)
    val end = cpuNanos() + SizeNanos
    var best = 0.0
    while (cpuNanos() < end || (best < CompiledGigabytesPerSecond && System.nanoTime() < patience)) {
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

  /** What interpreted code never comes near. */
  private val CompiledGigabytesPerSecond = 0.5

  private val WarmUpNanos = 250L * 1000 * 1000
  private val PatienceNanos = 1000L * 1000 * 1000
  private val SizeNanos = 60L * 1000 * 1000
  private val RoundNanos = 10L * 1000 * 1000
}
