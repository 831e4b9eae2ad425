package io.pmeparquet.orc.tail

import scala.collection.mutable

/**
 * How a column is encoded in a stripe.
 *
 * @param kind the format's number: 0 and 2 direct, 1 and 3 by a dictionary
 */
private[tail] final case class OrcEncoding(kind: Int, dictionarySize: Int)

/** The streams of a stripe and the encodings of its columns, of those that everybody can read or of one variant. */
private[tail] final case class OrcStreams(streams: Seq[OrcStream], encodings: IndexedSeq[OrcEncoding]) {

  /**
   * Compares it with what the footer of the file says.
   *
   * @param root of the columns that it is for
   */
  def requireFit(root: OrcType, types: IndexedSeq[OrcType], rows: Long): Unit = {
    val count = root.maximumId - root.id + 1
    Damage.require(
      encodings.size == count,
      s"it has encodings of ${encodings.size} columns, where there are $count"
    )
    encodings.zipWithIndex.foreach { case (encoding, index) =>
      requireDictionary(encoding, types(root.id + index), rows)
    }
    val seen = mutable.HashSet.empty[(Int, Int)]
    streams.foreach { one =>
      Damage.require(root.holds(one.column), s"it has a stream of column ${one.column}, which is not there")
      val placeholder = OrcStreams.Placeholders(one.kind)
      Damage.require(
        placeholder || seen.add((one.column, one.kind)),
        s"it has two streams of column ${one.column} with kind ${one.kind}"
      )
    }
  }

  /** The bytes that the streams take, at most `most + 1`. */
  def length(most: Long): Long = streams.foldLeft(0L) { (sum, one) =>
    if (OrcStreams.Placeholders(one.kind)) sum
    else if (sum > most || one.length > most - sum) most + 1
    else sum + one.length
  }

  private def requireDictionary(encoding: OrcEncoding, column: OrcType, rows: Long): Unit =
    if (OrcStreams.Dictionaries(encoding.kind)) {
      val size = encoding.dictionarySize
      // Each entry has a row, unless a row has many values.
      Damage.require(
        column.repeated || size <= rows,
        s"the dictionary of column ${column.id} has $size entries for $rows rows"
      )
      Damage.require(
        size <= OrcLimits.DictionaryEntries,
        s"the dictionary of column ${column.id} has $size entries; with this heap size at most " +
          s"${OrcLimits.DictionaryEntries} are accepted"
      )
    }
}

private[tail] object OrcStreams {

  /** Of data and of an index that are elsewhere: their lengths take no room. */
  val Placeholders: Set[Int] = Set(9, 10)

  /** Those that a stripe has. */
  private val KnownKinds = 0 to 10

  val Dictionaries: Set[Int] = Set(1, 3)
  private val KnownEncodings = 0 to 3

  def stream(wire: Wire): OrcStream = {
    val one = OrcStream.parse(wire)
    if (!KnownKinds.contains(one.kind))
      throw Damage.unknown(s"it has a stream of an unknown kind, number ${one.kind}")
    one
  }

  def encoding(wire: Wire): OrcEncoding = {
    var kind, size = 0
    wire.fields {
      case 1 => kind = wire.once.int()
      case 2 => size = wire.once.int()
    }
    if (!KnownEncodings.contains(kind)) throw Damage.unknown(s"it has an unknown encoding, number $kind")
    OrcEncoding(kind, size)
  }
}

/** The footer of a stripe. */
private[tail] final case class StripeFooter(plain: OrcStreams, variants: IndexedSeq[OrcStreams]) {

  /** Whether it fits to what the footer of the file says of the stripe. */
  def requireFit(tail: OrcTail, stripe: OrcStripe): Unit = {
    Damage.require(
      variants.size == tail.variants.size,
      s"it has streams of ${variants.size} encryption variants, where there are ${tail.variants.size}"
    )
    plain.requireFit(tail.types.head, tail.types, stripe.rows)
    variants.zip(tail.variants).foreach { case (one, variant) =>
      one.requireFit(tail.types(variant.root), tail.types, stripe.rows)
    }
    val room = stripe.indexLength + stripe.dataLength
    val taken = (plain +: variants).foldLeft(0L) { (sum, one) =>
      (sum + one.length(room)).min(room + 1)
    }
    // ORC's reader finds a stream by adding up the lengths of those before.
    Damage.require(
      taken == room,
      s"its streams have ${if (taken > room) "more than" else s"$taken of"} the $room bytes that the footer states"
    )
  }
}

private[tail] object StripeFooter {
  def parse(bytes: Array[Byte]): StripeFooter = {
    val wire = Wire.of(bytes, "its message")
    val streams = Seq.newBuilder[OrcStream]
    val encodings = IndexedSeq.newBuilder[OrcEncoding]
    val variants = IndexedSeq.newBuilder[OrcStreams]
    wire.fields {
      case 1 => streams += OrcStreams.stream(wire.message("a stream"))
      case 2 => encodings += OrcStreams.encoding(wire.message("an encoding"))
      case 3 => wire.once.text(OrcLimits.TimeZoneChars); ()
      case 4 => variants += variant(wire.message("an encryption variant"))
    }
    StripeFooter(OrcStreams(streams.result(), encodings.result()), variants.result())
  }

  private def variant(wire: Wire): OrcStreams = {
    val streams = Seq.newBuilder[OrcStream]
    val encodings = IndexedSeq.newBuilder[OrcEncoding]
    wire.fields {
      case 1 => streams += OrcStreams.stream(wire.message("a stream"))
      case 2 => encodings += OrcStreams.encoding(wire.message("an encoding"))
    }
    OrcStreams(streams.result(), encodings.result())
  }
}
