package io.pmeparquet.cipher

import java.security.SecureRandom
import javax.crypto.spec.{GCMParameterSpec, IvParameterSpec}
import javax.crypto.Cipher

import io.pmeparquet.AesKey

/**
 * Opens modules with one key, from and into arrays of the caller. For one thread: JCE ciphers are not thread-safe, and
 * changing their key is slow.
 */
sealed trait ModuleCipher {

  /** How much longer a module is than its plaintext, including its length field. */
  def overheadBytes: Int

  /**
   * @param in the module after its length field: nonce ‖ ciphertext, and for GCM ‖ tag
   * @param aad the first `aadLength` bytes are the AAD of the module; CTR ignores them
   * @return length of the plaintext, from `outOffset` on
   * @throws javax.crypto.AEADBadTagException if the tag does not match; then nothing in `out` can be trusted
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
final class AesGcm(key: AesKey, provider: CipherSource) extends ModuleCipher {
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
   * Encrypts with a random nonce.
   *
   * @return nonce ‖ ciphertext ‖ tag
   */
  def seal(content: Array[Byte], aad: Array[Byte], aadLength: Int, random: SecureRandom): Array[Byte] = {
    val nonce = new Array[Byte](ModuleFrame.NonceBytes)
    random.nextBytes(nonce)
    // A separate cipher, as for signatures.
    val sealing = provider.gcm()
    sealing.init(Cipher.ENCRYPT_MODE, secret, AesGcm.parameters(nonce, 0))
    sealing.updateAAD(aad, 0, aadLength)
    nonce ++ sealing.doFinal(content)
  }

  /**
   * Whether the signature of a plaintext footer matches its content (specification §5.5): the content is encrypted again,
   * and the tags are compared in constant time.
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
    // A separate cipher: the JVM's refuses to encrypt twice with one nonce, and a file may be opened twice.
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

/** AES-CTR with a counter block of the nonce and a 32-bit counter that starts at 1 (specification §4.2.2). */
final class AesCtr(key: AesKey, provider: CipherSource) extends ModuleCipher {
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

/**
 * The layout of an encrypted module in a file (specification §5.1): length (4 bytes, little endian) ‖ nonce ‖ ciphertext,
 * and for GCM ‖ tag. The length is that of everything after it.
 */
object ModuleFrame {
  val LengthBytes = 4
  val NonceBytes = 12
  val TagBytes = 16

  /** How much longer a GCM module is than its plaintext. */
  val GcmOverheadBytes: Int = LengthBytes + NonceBytes + TagBytes

  /** How much longer a CTR module is than its plaintext. */
  val CtrOverheadBytes: Int = LengthBytes + NonceBytes

  /** The signature after a plaintext footer: nonce ‖ tag (specification §5.5). */
  val SignatureBytes: Int = NonceBytes + TagBytes

  /** A length before a module, or after a footer. */
  def lengthOf(length: Int): Array[Byte] = Array.tabulate(LengthBytes)(at => (length >>> 8 * at).toByte)

  /** The length at an offset in an array: any 32-bit number, to be checked before use. */
  def lengthAt(bytes: Array[Byte], at: Int): Int =
    (bytes(at) & 0xff) | (bytes(at + 1) & 0xff) << 8 | (bytes(at + 2) & 0xff) << 16 | (bytes(
      at + 3
    ) & 0xff) << 24
}

/** Creates the JCE's ciphers: a [[CryptoProvider]], or one that has not yet passed its self-test. */
trait CipherSource {
  def name: String
  private[cipher] def gcm(): Cipher
  private[cipher] def ctr(): Cipher
}
