package io.pmeparquet.cipher

import java.security.SecureRandom
import javax.crypto.spec.{GCMParameterSpec, IvParameterSpec}
import javax.crypto.Cipher

import io.pmeparquet.AesKey

/**
 * Opens and seals modules with one key. For one thread: JCE ciphers are not thread-safe, and changing their key is slow.
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

  /**
   * Encrypts with a random nonce.
   *
   * @param aad the first `aadLength` bytes are the AAD of the module; CTR ignores them
   * @return the module with its length field, as a file stores it
   */
  final def seal(
      content: Array[Byte],
      aad: Array[Byte],
      aadLength: Int,
      random: SecureRandom
  ): Array[Byte] = {
    val nonce = new Array[Byte](ModuleFrame.NonceBytes)
    random.nextBytes(nonce)
    seal(content, aad, aadLength, nonce)
  }

  /** With a nonce of the caller's: for known answers only. */
  private[cipher] final def seal(
      content: Array[Byte],
      aad: Array[Byte],
      aadLength: Int,
      nonce: Array[Byte]
  ): Array[Byte] = {
    val module = new Array[Byte](Math.addExact(content.length, overheadBytes))
    ModuleFrame.putLength(module.length - ModuleFrame.LengthBytes, module)
    System.arraycopy(nonce, 0, module, ModuleFrame.LengthBytes, nonce.length)
    val end = encrypt(content, aad, aadLength, module)
    if (end != module.length)
      throw new IllegalStateException(s"internal error: a cipher made $end of ${module.length} bytes")
    module
  }

  /**
   * @param module has the nonce after its length field, and gets what follows
   * @return where that ends
   */
  protected def encrypt(content: Array[Byte], aad: Array[Byte], aadLength: Int, module: Array[Byte]): Int
}

/** AES-GCM with a nonce of 96 bits and a tag of 128 (specification §4.2.1, §4.2.2). */
final class AesGcm(key: AesKey, provider: CipherSource) extends ModuleCipher {
  private val secret = key.toSecretKey

  // Two, since most keys only open modules, or only seal them.
  private lazy val cipher = provider.gcm()
  private lazy val sealing = provider.gcm()

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

  override protected def encrypt(
      content: Array[Byte],
      aad: Array[Byte],
      aadLength: Int,
      module: Array[Byte]
  ): Int = {
    sealing.init(Cipher.ENCRYPT_MODE, secret, AesGcm.parameters(module, ModuleFrame.LengthBytes))
    sealing.updateAAD(aad, 0, aadLength)
    ModuleFrame.ContentAt + sealing.doFinal(content, 0, content.length, module, ModuleFrame.ContentAt)
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
    begin(Cipher.DECRYPT_MODE, in, inOffset)
    crypt(in, inOffset + ModuleFrame.NonceBytes, inOffset + inLength, out, outOffset) - outOffset
  }

  override protected def encrypt(
      content: Array[Byte],
      aad: Array[Byte],
      aadLength: Int,
      module: Array[Byte]
  ): Int = {
    begin(Cipher.ENCRYPT_MODE, module, ModuleFrame.LengthBytes)
    crypt(content, 0, content.length, module, ModuleFrame.ContentAt)
  }

  /**
   * In parts, for a cold JVM: it compiles what is called often, and interprets a call for a whole page.
   *
   * @return where the output ends
   */
  private def crypt(in: Array[Byte], from: Int, until: Int, out: Array[Byte], outOffset: Int): Int = {
    var at = from
    var end = outOffset
    while (until - at > AesCtr.PartBytes) {
      end += cipher.update(in, at, AesCtr.PartBytes, out, end)
      at += AesCtr.PartBytes
    }
    end + cipher.doFinal(in, at, until - at, out, end)
  }

  private def begin(mode: Int, nonceIn: Array[Byte], at: Int): Unit = {
    System.arraycopy(nonceIn, at, block, 0, ModuleFrame.NonceBytes)
    block(ModuleFrame.NonceBytes) = 0
    block(ModuleFrame.NonceBytes + 1) = 0
    block(ModuleFrame.NonceBytes + 2) = 0
    block(ModuleFrame.NonceBytes + 3) = 1
    cipher.init(mode, secret, new IvParameterSpec(block))
  }
}

object AesCtr {
  val Transformation = "AES/CTR/NoPadding"
  private val BlockBytes = 16
  private val PartBytes = 4096
}

/**
 * The layout of an encrypted module in a file (specification §5.1): length (4 bytes, little endian) ‖ nonce ‖ ciphertext,
 * and for GCM ‖ tag. The length is that of everything after it.
 */
object ModuleFrame {
  val LengthBytes = 4
  val NonceBytes = 12
  val TagBytes = 16

  /** Where the ciphertext begins. */
  val ContentAt: Int = LengthBytes + NonceBytes

  /** How much longer a GCM module is than its plaintext. */
  val GcmOverheadBytes: Int = LengthBytes + NonceBytes + TagBytes

  /** How much longer a CTR module is than its plaintext. */
  val CtrOverheadBytes: Int = LengthBytes + NonceBytes

  /** The signature after a plaintext footer: nonce ‖ tag (specification §5.5). */
  val SignatureBytes: Int = NonceBytes + TagBytes

  /** A length before a module, or after a footer. */
  def lengthOf(length: Int): Array[Byte] = {
    val bytes = new Array[Byte](LengthBytes)
    putLength(length, bytes)
    bytes
  }

  /** A module's length, at its start. */
  private[cipher] def putLength(length: Int, module: Array[Byte]): Unit = {
    module(0) = length.toByte
    module(1) = (length >>> 8).toByte
    module(2) = (length >>> 16).toByte
    module(3) = (length >>> 24).toByte
  }

  /** The signature of a plaintext footer, from the footer's module (specification §5.5). */
  def signatureOf(module: Array[Byte]): Array[Byte] =
    java.util.Arrays.copyOfRange(module, LengthBytes, ContentAt) ++
      java.util.Arrays.copyOfRange(module, module.length - TagBytes, module.length)

  /** The length at an offset in an array: any 32-bit number, to be checked before use. */
  def lengthAt(bytes: Array[Byte], at: Int): Int =
    (bytes(at) & 0xff) | (bytes(at + 1) & 0xff) << 8 | (bytes(at + 2) & 0xff) << 16 | (bytes(
      at + 3
    ) & 0xff) << 24
}

/** Creates the JCE's ciphers: a [[CryptoProvider]], or one that has not yet passed its self-test. */
trait CipherSource {
  def name: String
  private[pmeparquet] def gcm(): Cipher
  private[cipher] def ctr(): Cipher
}
