package io.pmeparquet.orc.tail

import java.nio.charset.StandardCharsets.US_ASCII

import org.apache.orc.OrcProto

/**
 * Where a stripe is, and its keys.
 *
 * @param id its place in the file, from 0
 * @param offset its first byte: indexes, data and footer follow each other
 * @param encryptionId the stripe's number in the initialization vectors of its streams; of a merged file not `id + 1`
 * @param encryptedKeys the encrypted local key of each variant. Stripes mostly share those of the first
 */
final class OrcStripe private[tail] (
    val id: Int,
    val offset: Long,
    val indexLength: Long,
    val dataLength: Long,
    val footerLength: Int,
    val rows: Long,
    val encryptionId: Long,
    val encryptedKeys: IndexedSeq[Array[Byte]]
) {
  def footerOffset: Long = offset + indexLength + dataLength
  def end: Long = footerOffset + footerLength
}

private[tail] object OrcStripe {

  /** How a file begins. */
  val Magic: Array[Byte] = "ORC".getBytes(US_ASCII)

  /**
   * The stripes, which follow each other between the file's magic and `bodyEnd`.
   *
   * @param variants how many there are
   * @param stride the rows of a row group, 0 if there are none
   */
  def all(
      stated: Seq[OrcProto.StripeInformation],
      bodyEnd: Long,
      variants: Int,
      stride: Int
  ): IndexedSeq[OrcStripe] = {
    Damage.require(stated.size < OrcLimits.Id, s"it has ${stated.size} stripes")
    val stripes = IndexedSeq.newBuilder[OrcStripe]
    var end = Magic.length.toLong
    var encryptionId = 0L
    var keys = IndexedSeq.empty[Array[Byte]]
    stated.zipWithIndex.foreach { case (one, id) =>
      requirePlace(one, id, end, bodyEnd)
      requireRows(one, id, stride)
      end = one.getOffset + one.getIndexLength + one.getDataLength + one.getFooterLength
      encryptionId = if (one.hasEncryptStripeId) one.getEncryptStripeId else encryptionId + 1
      Damage.require(
        encryptionId >= 1 && encryptionId <= OrcLimits.Id,
        s"stripe $id has the encryption id $encryptionId"
      )
      // What a stripe inherits was tested where it is from.
      if (one.getEncryptedLocalKeysCount > 0) keys = localKeys(one, id)
      Damage.require(
        keys.size == variants,
        s"stripe $id has ${keys.size} local keys, but the file has $variants encryption variants"
      )
      stripes += new OrcStripe(
        id,
        one.getOffset,
        one.getIndexLength,
        one.getDataLength,
        one.getFooterLength.toInt,
        one.getNumberOfRows,
        encryptionId,
        keys
      )
    }
    stripes.result()
  }

  private def localKeys(one: OrcProto.StripeInformation, id: Int): IndexedSeq[Array[Byte]] =
    Vector.tabulate(one.getEncryptedLocalKeysCount) { variant =>
      val key = one.getEncryptedLocalKeys(variant)
      Damage.require(!key.isEmpty, s"local key $variant of stripe $id is empty")
      Damage.require(
        key.size <= OrcLimits.LocalKeyBytes,
        s"local key $variant of stripe $id has ${key.size} bytes, and at most ${OrcLimits.LocalKeyBytes} are accepted"
      )
      key.toByteArray
    }

  private def requirePlace(one: OrcProto.StripeInformation, id: Int, from: Long, until: Long): Unit = {
    Damage.require(
      one.getFooterLength <= OrcLimits.StripeFooterBytes,
      s"the length of the footer of stripe $id is ${one.getFooterLength} bytes; with this heap size at most " +
        s"${OrcLimits.StripeFooterBytes} are parsed"
    )
    // Each by itself first, so that the sum cannot overflow.
    val lengths = Seq(one.getIndexLength, one.getDataLength, one.getFooterLength)
    val room = until - one.getOffset
    Damage.require(
      one.getOffset >= from && room >= 0 && lengths.forall(_ <= room) && lengths.sum <= room,
      s"stripe $id cannot have ${lengths.mkString(", ")} bytes from ${one.getOffset} on, where bytes $from to $until are free"
    )
  }

  private def requireRows(one: OrcProto.StripeInformation, id: Int, stride: Int): Unit = {
    val rows = one.getNumberOfRows
    Damage.require(rows <= Int.MaxValue, s"stripe $id has $rows rows")
    Damage.require(
      stride == 0 || rows / stride < OrcLimits.RowGroups,
      s"stripe $id has $rows rows in groups of $stride, and with this heap size at most " +
        s"${OrcLimits.RowGroups} groups are accepted"
    )
  }
}
