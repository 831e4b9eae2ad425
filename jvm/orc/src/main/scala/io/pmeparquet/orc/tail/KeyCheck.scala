package io.pmeparquet.orc.tail

import java.security.GeneralSecurityException
import javax.crypto.{Cipher, SecretKey}
import javax.crypto.spec.IvParameterSpec

import io.pmeparquet.PmeErrors

/**
 * Finds a wrong key before anything is decrypted with it.
 *
 * AES-CTR decrypts with any key, to random bytes if it is the wrong one. So the encrypted statistics of the file are
 * opened first. They must decompress, consist of the format's fields only, have an entry for each column of the variant
 * with statistics of its type, and count no more values than the file has rows. Random bytes do not pass that: the chance
 * is below one in a hundred million.
 *
 * It does not prove that the file is genuine. Nothing authenticates the statistics, so whoever changes the file and knows
 * or guesses them can change them to others that pass, and can change values in any case. It proves nothing of another
 * local key, either: a stripe of a merged file may have its own.
 */
object KeyCheck {
  private val FileStatistics = 101

  /**
   * @param key the local key of the variant, decrypted
   * @throws io.pmeparquet.PmeException `PME_NOT_AUTHENTIC` if the key does not fit, or nothing shows whether it does
   */
  def require(tail: OrcTail, variant: OrcVariant, key: SecretKey): Unit =
    mismatch(tail, variant, key).foreach { why =>
      val column = tail.types(variant.root).leaf.display
      throw PmeErrors.orcWrongKey(tail.file, column, variant.key.display, why)
    }

  /** Why a key does not fit, none if it does. */
  def mismatch(tail: OrcTail, variant: OrcVariant, key: SecretKey): Option[String] =
    try {
      open(tail, variant, key)
      None
    } catch { case found: Damage => Some(found.why) }

  private def open(tail: OrcTail, variant: OrcVariant, key: SecretKey): Unit = {
    Damage.require(
      variant.fileStatistics.nonEmpty,
      "the file has no encrypted statistics, by which a wrong key would be found"
    )
    val what = "the block of encrypted statistics"
    val clear = decrypted(tail, variant, key)
    val bytes = tail.compression.decompress(clear, what, OrcLimits.StatisticsBytes)
    val wire = Wire.of(bytes, what)
    val root = tail.types(variant.root)
    var column = root.id
    while (wire.next()) {
      Damage.require(wire.field == 1, s"$what has field ${wire.field}, which the format does not have")
      Damage.require(column <= root.maximumId, s"$what has more entries than columns")
      requireFit(OrcStatistics.parse(wire.message(what), strict = true), tail.types(column), tail.rows)
      column += 1
    }
    Damage.require(column == root.maximumId + 1, s"$what has fewer entries than columns")
  }

  private def requireFit(found: OrcStatistics, column: OrcType, rows: Long): Unit = {
    Damage.require(
      OrcStatistics.fits(found, column),
      "the statistics of a column are not of its type"
    )
    val values =
      found.values.getOrElse(throw Damage("the statistics of a column do not say how many values it has"))
    Damage.require(
      column.repeated || values <= rows,
      "the statistics of a column count more values than the file has rows"
    )
    Damage.require(found.hasNull.isDefined, "the statistics of a column do not say whether it has nulls")
  }

  private def decrypted(tail: OrcTail, variant: OrcVariant, key: SecretKey): Array[Byte] = {
    val bits = variant.key.algorithm.keyBytes * 8
    val encoded = key.getEncoded
    Damage.require(
      encoded != null && encoded.length * 8 == bits,
      s"${variant.key.algorithm} needs a key of $bits bits"
    )
    val cipher = Cipher.getInstance("AES/CTR/NoPadding")
    try {
      cipher.init(Cipher.DECRYPT_MODE, key, new IvParameterSpec(iv(variant.root, tail.stripes.size + 1)))
      cipher.doFinal(variant.fileStatistics)
    } catch {
      case failed: GeneralSecurityException => throw new Damage("the key cannot be used", cause = failed)
    }
  }

  /** ORC's initialization vector: column 3 bytes, kind of stream 2, stripe 3, then the counter of 8. */
  private def iv(column: Int, stripe: Int): Array[Byte] = Array(
    column >> 16,
    column >> 8,
    column,
    FileStatistics >> 8,
    FileStatistics,
    stripe >> 16,
    stripe >> 8,
    stripe
  ).map(_.toByte) ++ new Array[Byte](8)
}
