package io.pmeparquet.cipher

import java.security.SecureRandom
import javax.crypto.spec.{GCMParameterSpec, IvParameterSpec}
import javax.crypto.Cipher

import io.pmeparquet.AesKey

/**
 * Opens modules under one key, from and into arrays of the caller. For one thread: a JCE cipher is neither safe to share
 * nor quick to give another key.
 */
sealed trait ModuleCipher {

  /** What a module is longer than its plaintext, its length field included. */
  def overheadBytes: Int

  /**
   * @param in the module after its length field: nonce ‖ ciphertext, and for GCM ‖ tag
   * @param aad the module's AAD, of which the first `aadLength` bytes count; not looked at by CTR
   * @return length of the plaintext, from `outOffset` on
   * @throws javax.crypto.AEADBadTagException where the tag does not match; then nothing of `out` is to be trusted
   */
  def open(
      in: Array[Byte],
      inOffset: Int,
      inLength: Int,
      aad: Array[Byte],
      aadLength: Int,
      out: Array[Byte],
      outOffset: Int
  ): Int
}

/** AES-GCM with a nonce of 96 bits and a tag of 128 (specification §4.2.1, §4.2.2). */
final class AesGcm(key: AesKey, provider: CryptoProvider) extends ModuleCipher {
  private val secret = key.toSecretKey
  private val cipher = provider.gcm()

  override def overheadBytes: Int = ModuleFrame.GcmOverheadBytes

  override def open(
      in: Array[Byte],
      inOffset: Int,
      inLength: Int,
      aad: Array[Byte],
      aadLength: Int,
      out: Array[Byte],
      outOffset: Int
  ): Int = {
    cipher.init(Cipher.DECRYPT_MODE, secret, AesGcm.parameters(in, inOffset))
    cipher.updateAAD(aad, 0, aadLength)
    val start = inOffset + ModuleFrame.NonceBytes
    cipher.doFinal(in, start, inLength - ModuleFrame.NonceBytes, out, outOffset)
  }

  /**
   * Encrypts under a nonce that is drawn for it.
   *
   * @return nonce ‖ ciphertext ‖ tag
   */
  def seal(content: Array[Byte], aad: Array[Byte], aadLength: Int, random: SecureRandom): Array[Byte] = {
    val nonce = new Array[Byte](ModuleFrame.NonceBytes)
    random.nextBytes(nonce)
    // A cipher of its own, as for signatures.
    val sealing = provider.gcm()
    sealing.init(Cipher.ENCRYPT_MODE, secret, AesGcm.parameters(nonce, 0))
    sealing.updateAAD(aad, 0, aadLength)
    nonce ++ sealing.doFinal(content)
  }

  /**
   * Whether the tag of a plaintext footer's signature is that of its content (specification §5.5): the content is
   * encrypted anew and the tags are compared in constant time.
   *
   * @param signature nonce ‖ tag
   */
  def signs(
      content: Array[Byte],
      offset: Int,
      length: Int,
      aad: Array[Byte],
      aadLength: Int,
      signature: Array[Byte]
  ): Boolean = {
    // A cipher of its own: the JVM's refuses to encrypt twice with one nonce, and a file may be opened twice.
    val signing = provider.gcm()
    signing.init(Cipher.ENCRYPT_MODE, secret, AesGcm.parameters(signature, 0))
    signing.updateAAD(aad, 0, aadLength)
    val encrypted = signing.doFinal(content, offset, length)
    java.security.MessageDigest.isEqual(
      java.util.Arrays.copyOfRange(encrypted, length, encrypted.length),
      java.util.Arrays.copyOfRange(signature, ModuleFrame.NonceBytes, signature.length)
    )
  }
}

object AesGcm {
  val Transformation = "AES/GCM/NoPadding"

  private def parameters(nonce: Array[Byte], offset: Int) =
    new GCMParameterSpec(ModuleFrame.TagBytes * 8, nonce, offset, ModuleFrame.NonceBytes)
}

/** AES-CTR whose counter block is the nonce and a counter of 32 bits that starts at 1 (specification §4.2.2). */
final class AesCtr(key: AesKey, provider: CryptoProvider) extends ModuleCipher {
  private val secret = key.toSecretKey
  private val cipher = provider.ctr()
  private val block = new Array[Byte](AesCtr.BlockBytes)

  override def overheadBytes: Int = ModuleFrame.CtrOverheadBytes

  override def open(
      in: Array[Byte],
      inOffset: Int,
      inLength: Int,
      aad: Array[Byte],
      aadLength: Int,
      out: Array[Byte],
      outOffset: Int
  ): Int = {
    System.arraycopy(in, inOffset, block, 0, ModuleFrame.NonceBytes)
    block(ModuleFrame.NonceBytes) = 0
    block(ModuleFrame.NonceBytes + 1) = 0
    block(ModuleFrame.NonceBytes + 2) = 0
    block(ModuleFrame.NonceBytes + 3) = 1
    cipher.init(Cipher.DECRYPT_MODE, secret, new IvParameterSpec(block))
    val start = inOffset + ModuleFrame.NonceBytes
    cipher.doFinal(in, start, inLength - ModuleFrame.NonceBytes, out, outOffset)
  }
}

object AesCtr {
  val Transformation = "AES/CTR/NoPadding"
  private val BlockBytes = 16
}
