package io.pmeparquet.orc.tail

import javax.crypto.spec.IvParameterSpec
import javax.crypto.Cipher

import io.pmeparquet.AesKey

/**
 * An encrypted stream of a stripe, or of the statistics of stripes.
 *
 * @param offset its first byte in the file
 * @param encryptedKey its local key, encrypted by the master key
 * @param kind its number in ORC's format
 * @param number that of its stripe in the initialization vector
 */
final class OrcStream private[tail] (
    val offset: Long,
    val length: Long,
    val variant: OrcVariant,
    val encryptedKey: Array[Byte],
    column: Int,
    kind: Int,
    number: Long
) {

  def end: Long = offset + length

  private[tail] def isIndexOf(id: Int): Boolean = column == id && kind == OrcStream.RowIndex

  /** Encrypts or decrypts its bytes, from the first to the last: both are the same in AES-CTR. */
  def cipher(key: AesKey): Cipher = OrcStream.cipher(key, OrcStream.iv(column, kind, number))
}

object OrcStream {
  private[tail] val RowIndex = 6
  private[tail] val StripeStatistics = 100
  private[tail] val FileStatistics = 101

  /** That of the encrypted statistics of a file. */
  def ofStatistics(tail: OrcTail, variant: OrcVariant, key: AesKey): Cipher =
    cipher(key, iv(variant.root, FileStatistics, tail.stripes.size + 1L))

  private def cipher(key: AesKey, iv: Array[Byte]) = {
    val made = Cipher.getInstance("AES/CTR/NoPadding")
    made.init(Cipher.ENCRYPT_MODE, key.toSecretKey, new IvParameterSpec(iv))
    made
  }

  /** ORC's initialization vector: column 3 bytes, kind of stream 2, stripe 3, then the counter of 8. */
  private[tail] def iv(column: Int, kind: Int, stripe: Long): Array[Byte] = Array(
    column >> 16,
    column >> 8,
    column,
    kind >> 8,
    kind,
    (stripe >> 16).toInt,
    (stripe >> 8).toInt,
    stripe.toInt
  ).map(_.toByte) ++ new Array[Byte](8)
}
