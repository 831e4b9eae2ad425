package io.pmeparquet.spark.write

import java.security.{AlgorithmParameters, Key, Provider, SecureRandom, Security}
import java.security.spec.AlgorithmParameterSpec
import java.util.concurrent.atomic.AtomicLong
import javax.crypto.{Cipher, CipherSpi}

/** The JVM's own ciphers under another name: counts what they encrypt. */
final class CountingProvider extends Provider(CountingProvider.Name, "1", "counts what it encrypts") {
  put("Cipher.AES/GCM/NoPadding", classOf[CountingGcm].getName)
  put("Cipher.AES/CTR/NoPadding", classOf[CountingCtr].getName)
}

object CountingProvider {
  val Name = "Counting"
  private[write] val encrypted = new AtomicLong

  /** @return how many modules it encrypted during the block */
  def count(block: => Unit): Long = {
    if (Security.getProvider(Name) == null) Security.addProvider(new CountingProvider)
    // The self-test of the first use encrypts, too.
    io.pmeparquet.cipher.CryptoProvider.of(Name)
    val before = encrypted.get
    block
    encrypted.get - before
  }
}

final class CountingGcm extends CountingCipher("AES/GCM/NoPadding")
final class CountingCtr extends CountingCipher("AES/CTR/NoPadding")

sealed abstract class CountingCipher(transformation: String) extends CipherSpi {
  private val cipher = Cipher.getInstance(transformation, "SunJCE")
  private var encrypts = false

  override protected def engineInit(
      mode: Int,
      key: Key,
      parameters: AlgorithmParameterSpec,
      random: SecureRandom
  ): Unit = {
    encrypts = mode == Cipher.ENCRYPT_MODE
    cipher.init(mode, key, parameters)
  }
  override protected def engineUpdateAAD(aad: Array[Byte], offset: Int, length: Int): Unit =
    cipher.updateAAD(aad, offset, length)
  override protected def engineDoFinal(
      in: Array[Byte],
      offset: Int,
      length: Int,
      out: Array[Byte],
      at: Int
  ): Int = {
    if (encrypts) CountingProvider.encrypted.incrementAndGet()
    cipher.doFinal(in, offset, length, out, at)
  }
  override protected def engineUpdate(
      in: Array[Byte],
      offset: Int,
      length: Int,
      out: Array[Byte],
      at: Int
  ): Int =
    cipher.update(in, offset, length, out, at)
  override protected def engineDoFinal(in: Array[Byte], offset: Int, length: Int): Array[Byte] = {
    if (encrypts) CountingProvider.encrypted.incrementAndGet()
    cipher.doFinal(in, offset, length)
  }
  override protected def engineSetMode(mode: String): Unit = ()
  override protected def engineSetPadding(padding: String): Unit = ()
  override protected def engineGetBlockSize: Int = cipher.getBlockSize
  override protected def engineGetOutputSize(length: Int): Int = cipher.getOutputSize(length)
  override protected def engineGetIV: Array[Byte] = cipher.getIV
  override protected def engineGetParameters: AlgorithmParameters = cipher.getParameters
  override protected def engineUpdate(in: Array[Byte], offset: Int, length: Int): Array[Byte] =
    cipher.update(in, offset, length)
  override protected def engineInit(mode: Int, key: Key, random: SecureRandom): Unit = refused()
  override protected def engineInit(
      mode: Int,
      key: Key,
      parameters: AlgorithmParameters,
      random: SecureRandom
  ): Unit = refused()

  private def refused(): Unit = throw new UnsupportedOperationException
}
