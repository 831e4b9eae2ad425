package io.pmeparquet.orc.tail

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

/** What the footer says of one stripe. */
private[tail] final case class RawStripe(
    offset: Long,
    indexLength: Long,
    dataLength: Long,
    footerLength: Long,
    rows: Long,
    encryptionId: Option[Long],
    encryptedKeys: IndexedSeq[Array[Byte]]
)

private[tail] object OrcStripe {
  def parse(wire: Wire): RawStripe = {
    var offset, index, data, footer, rows = 0L
    var encryptionId = Option.empty[Long]
    val keys = IndexedSeq.newBuilder[Array[Byte]]
    wire.fields {
      case 1 => offset = wire.once.long()
      case 2 => index = wire.once.long()
      case 3 => data = wire.once.long()
      case 4 => footer = wire.once.long()
      case 5 => rows = wire.once.long()
      case 6 => encryptionId = Some(wire.once.long())
      case 7 => keys += wire.blob(OrcLimits.LocalKeyBytes)
    }
    RawStripe(offset, index, data, footer, rows, encryptionId, keys.result())
  }

  /**
   * The stripes, which follow each other between the file's magic and `bodyEnd`.
   *
   * @param variants how many there are
   * @param stride the rows of a row group, 0 if there are none
   */
  def all(raw: Seq[RawStripe], bodyEnd: Long, variants: Int, stride: Int): IndexedSeq[OrcStripe] = {
    Damage.require(raw.size < OrcLimits.Id, s"it has ${raw.size} stripes")
    val stripes = IndexedSeq.newBuilder[OrcStripe]
    var end = PostScript.Magic.length.toLong
    var encryptionId = 0L
    var keys = IndexedSeq.empty[Array[Byte]]
    raw.zipWithIndex.foreach { case (one, id) =>
      requirePlace(one, id, end, bodyEnd)
      requireRows(one, id, stride)
      end = one.offset + one.indexLength + one.dataLength + one.footerLength
      encryptionId = one.encryptionId.getOrElse(encryptionId + 1)
      Damage.require(
        encryptionId >= 1 && encryptionId <= OrcLimits.Id,
        s"stripe $id has the encryption id $encryptionId"
      )
      // What a stripe inherits was tested where it is from.
      if (one.encryptedKeys.nonEmpty) {
        keys = one.encryptedKeys
        val empty = keys.indexWhere(_.isEmpty)
        Damage.require(empty < 0, s"local key $empty of stripe $id is empty")
      }
      Damage.require(
        keys.size == variants,
        s"stripe $id has ${keys.size} local keys, but the file has $variants encryption variants"
      )
      stripes += new OrcStripe(
        id,
        one.offset,
        one.indexLength,
        one.dataLength,
        one.footerLength.toInt,
        one.rows,
        encryptionId,
        keys
      )
    }
    stripes.result()
  }

  private def requirePlace(one: RawStripe, id: Int, from: Long, until: Long): Unit = {
    Damage.require(
      one.footerLength <= OrcLimits.StripeFooterBytes,
      s"the length of the footer of stripe $id is ${one.footerLength} bytes; with this heap size at most " +
        s"${OrcLimits.StripeFooterBytes} are parsed"
    )
    // Each by itself first, so that the sum cannot overflow.
    val lengths = Seq(one.indexLength, one.dataLength, one.footerLength)
    val room = until - one.offset
    Damage.require(
      one.offset >= from && room >= 0 && lengths.forall(_ <= room) && lengths.sum <= room,
      s"stripe $id cannot have ${lengths.mkString(", ")} bytes from ${one.offset} on, where bytes $from to $until are free"
    )
  }

  private def requireRows(one: RawStripe, id: Int, stride: Int): Unit = {
    Damage.require(one.rows <= Int.MaxValue, s"stripe $id has ${one.rows} rows")
    Damage.require(
      stride == 0 || one.rows / stride < OrcLimits.RowGroups,
      s"stripe $id has ${one.rows} rows in groups of $stride, and with this heap size at most " +
        s"${OrcLimits.RowGroups} groups are accepted"
    )
  }
}

/** A stream of a stripe, or of statistics: its kind is the format's number. */
private[tail] final case class OrcStream(kind: Int, column: Int, length: Long)

private[tail] object OrcStream {
  def parse(wire: Wire): OrcStream = {
    var kind = Option.empty[Int]
    var column = 0
    var length = 0L
    wire.fields {
      case 1 => kind = Some(wire.once.int())
      case 2 => column = wire.once.int()
      case 3 => length = wire.once.long()
    }
    OrcStream(kind.getOrElse(throw Damage("a stream has no kind")), column, length)
  }
}
