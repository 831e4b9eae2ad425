package io.pmeparquet.cipher

import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.AtomicBoolean
import javax.crypto.spec.GCMParameterSpec
import javax.crypto.Cipher

import scala.util.control.NonFatal

import io.pmeparquet.AesKey

/**
 * Has the JIT compiler compile AES-GCM before the first page needs it. Until the JVM's own provider is compiled, it runs at
 * a fiftieth of its speed, and with pages of 1 MiB that lasts for hundreds of megabytes in every new executor: the JVM
 * discards code that has only met short messages when it meets a long one, and interprets it again. Code that has met
 * both is compiled once.
 */
private[cipher] object WarmUp {
  private val started = new AtomicBoolean

  /** Starts in the background, once per JVM. It speeds up both encryption and decryption. */
  def start(provider: CipherSource): Unit =
    if (provider.name == NeedsIt && started.compareAndSet(false, true)) {
      val thread = new Thread(() => attempt(provider), "pme-parquet-warm-up")
      thread.setDaemon(true)
      thread.start()
    }

  private def attempt(provider: CipherSource): Unit =
    try {
      if (AesHardware.hasCompiler) run(provider, MaxCpuNanos)
      ()
    } catch {
      // Nothing waits for this, and a read that fails in the same way reports it. Spark ends an executor when a thread does
      // not catch an exception.
      case NonFatal(_) | _: LinkageError | _: OutOfMemoryError => ()
    }

  /** @return how many messages were opened until all were, or the CPU time of this thread was used up */
  def run(provider: CipherSource, maxCpuNanos: Long): Int = {
    val threads = ManagementFactory.getThreadMXBean
    val end = threads.getCurrentThreadCpuTime + maxCpuNanos
    val cipher = new AesGcm(key, provider)
    val long = sealedMessage(LongBytes, provider)
    val short = sealedMessage(ShortBytes, provider)
    val out = new Array[Byte](LongBytes)
    var opened = 0
    while (opened < Messages && threads.getCurrentThreadCpuTime < end) {
      val message = if (opened % ShortPerLong == 0) long else short
      cipher.open(message, 0, message.length, aad, aad.length, out, 0)
      opened += 1
    }
    opened
  }

  private def sealedMessage(size: Int, provider: CipherSource): Array[Byte] = {
    val nonce = new Array[Byte](ModuleFrame.NonceBytes)
    nonce(0) = (size >> 8).toByte
    val cipher = provider.gcm()
    cipher.init(
      Cipher.ENCRYPT_MODE,
      key.toSecretKey,
      new GCMParameterSpec(ModuleFrame.TagBytes * 8, nonce)
    )
    cipher.updateAAD(aad)
    nonce ++ cipher.doFinal(new Array[Byte](size))
  }

  // This key protects nothing.
  private def key = AesKey.of(Array.tabulate(16)(_.toByte), "warm-up")
  private val aad = new Array[Byte](32)

  /** The only provider that needs compilation: others are native code, or slow anyway. */
  private val NeedsIt = "SunJCE"

  /** Found by experiment: with shorter or fewer messages, the first pages of 1 MiB are slow again. */
  private val LongBytes = 256 * 1024
  private val ShortBytes = 256
  private val ShortPerLong = 600
  val Messages: Int = 6 * ShortPerLong

  /** It takes about 60 ms. */
  private val MaxCpuNanos = 250L * 1000 * 1000
}
