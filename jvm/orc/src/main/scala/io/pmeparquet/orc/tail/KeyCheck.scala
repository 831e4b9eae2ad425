package io.pmeparquet.orc.tail

import java.security.GeneralSecurityException
import javax.crypto.{Cipher, SecretKey}
import javax.crypto.spec.IvParameterSpec

import scala.collection.JavaConverters._

import org.apache.orc.protobuf.Descriptors.FieldDescriptor.JavaType
import org.apache.orc.protobuf.Message
import org.apache.orc.OrcProto

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
    val clear =
      decrypted(
        variant,
        key,
        variant.fileStatistics,
        OrcStream.iv(variant.root, OrcStream.FileStatistics, tail.stripes.size + 1L)
      )
    val bytes = tail.compression.decompress(clear, what, OrcLimits.StatisticsBytes)
    val found = OrcMessages.parse(OrcProto.FileStatistics.getDefaultInstance, bytes, what)
    requireAsWritten(found, bytes, what)
    val root = tail.types(variant.root)
    val columns = root.maximumId - root.id + 1
    Damage.require(found.getColumnCount <= columns, s"$what has more entries than columns")
    Damage.require(found.getColumnCount == columns, s"$what has fewer entries than columns")
    found.getColumnList.asScala.zipWithIndex.foreach { case (one, index) =>
      requireFit(one, tail.types(root.id + index), tail.rows)
    }
  }

  /**
   * The same for a stripe that has a local key of its own, by the index of its rows.
   *
   * @param index of the variant's root, as the stripe has it; none if it has none
   */
  private[tail] def requireOfStripe(
      tail: OrcTail,
      variant: OrcVariant,
      stripe: OrcStripe,
      index: Option[Array[Byte]],
      key: SecretKey
  ): Unit =
    try {
      val what = s"the encrypted index of stripe ${stripe.id}"
      val stored = index.getOrElse {
        throw Damage(s"stripe ${stripe.id} has no encrypted index, by which a wrong key would be found")
      }
      // An index of no row groups is empty, and then it is the same under every key.
      Damage.require(
        stored.nonEmpty && stripe.rows > 0 && tail.rowIndexStride > 0,
        s"$what has no row groups, by which a wrong key would be found"
      )
      val clear =
        decrypted(variant, key, stored, OrcStream.iv(variant.root, OrcStream.RowIndex, stripe.encryptionId))
      val bytes = tail.compression.decompress(clear, what, OrcLimits.StatisticsBytes)
      val found = OrcMessages.parse(OrcProto.RowIndex.getDefaultInstance, bytes, what)
      requireAsWritten(found, bytes, what)
      val groups = (stripe.rows + tail.rowIndexStride - 1) / tail.rowIndexStride
      Damage.require(found.getEntryCount == groups, s"$what is not of $groups row groups")
      found.getEntryList.asScala.foreach { one =>
        requireFit(one.getStatistics, tail.types(variant.root), tail.rowIndexStride.toLong)
      }
    } catch {
      case found: Damage =>
        val column = tail.types(variant.root).leaf.display
        throw PmeErrors.orcWrongKey(tail.file, column, variant.key.display, found.why)
    }

  private def requireAsWritten(found: Message, bytes: Array[Byte], what: String): Unit = {
    Damage.require(
      OrcMessages.unknownField(found).isEmpty,
      s"$what has a field which the format does not have"
    )
    // Random bytes that happen to parse are mostly none that ORC would write for it.
    Damage.require(found.toByteArray.sameElements(bytes), s"$what is not as ORC writes it")
  }

  private def requireFit(found: OrcProto.ColumnStatistics, column: OrcType, rows: Long): Unit = {
    val typed = found.getAllFields.keySet.asScala.filter(_.getJavaType == JavaType.MESSAGE).map(_.getNumber)
    Damage.require(typed.size <= 1, "the statistics of a column are of two types")
    Damage.require(
      typed.forall(KindsOf.getOrElse(_, Set.empty[String])(column.kind)),
      "the statistics of a column are not of its type"
    )
    Damage.require(found.hasNumberOfValues, "the statistics of a column do not say how many values it has")
    Damage.require(
      column.repeated || found.getNumberOfValues <= rows,
      "the statistics of a column count more values than the file has rows"
    )
    Damage.require(found.hasHasNull, "the statistics of a column do not say whether it has nulls")
  }

  /** The kinds of columns that typed statistics are for, by the number of their field. */
  private val KindsOf: Map[Int, Set[String]] = Map(
    2 -> Set("BYTE", "SHORT", "INT", "LONG"),
    3 -> Set("FLOAT", "DOUBLE"),
    4 -> Set("STRING", "CHAR", "VARCHAR"),
    5 -> Set("BOOLEAN"),
    6 -> Set("DECIMAL"),
    7 -> Set("DATE"),
    8 -> Set("BINARY"),
    9 -> Set("TIMESTAMP", "TIMESTAMP_INSTANT"),
    12 -> Set("LIST", "MAP"),
    13 -> Set("GEOMETRY", "GEOGRAPHY")
  )

  private def decrypted(
      variant: OrcVariant,
      key: SecretKey,
      stored: Array[Byte],
      iv: Array[Byte]
  ): Array[Byte] = {
    val bits = variant.key.algorithm.keyLength * 8
    val encoded = key.getEncoded
    Damage.require(
      encoded != null && encoded.length * 8 == bits,
      s"${variant.key.algorithm.name} needs a key of $bits bits"
    )
    val cipher = Cipher.getInstance("AES/CTR/NoPadding")
    try {
      cipher.init(Cipher.DECRYPT_MODE, key, new IvParameterSpec(iv))
      cipher.doFinal(stored)
    } catch {
      case failed: GeneralSecurityException => throw new Damage("the key cannot be used", cause = failed)
    }
  }
}
