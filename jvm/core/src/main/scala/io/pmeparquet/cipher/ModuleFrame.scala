package io.pmeparquet.cipher

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
