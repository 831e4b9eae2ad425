package io.pmeparquet.orc.tail

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.orc.impl.StreamName
import org.apache.orc.protobuf.Message
import org.apache.orc.OrcProto
import org.apache.orc.OrcProto.ColumnEncoding.{Kind => Encodings}
import org.apache.orc.OrcProto.Stream.{Kind => Streams}

/**
 * Opens the footers and statistics of stripes before ORC's reader does, which takes lengths and numbers from them as they
 * are.
 *
 * After it, each stream lies in its stripe, each column has an encoding, and no dictionary states more entries than can
 * be. It does not open streams: lengths of values, which are in them, can still make ORC's reader allocate much.
 */
private[tail] object StripeCheck {
  private val BloomFilters = Set(Streams.BLOOM_FILTER, Streams.BLOOM_FILTER_UTF8)

  /** The columns that have Bloom filters in the first stripe, by their ids. */
  def bloomColumns(tail: OrcTail, bytes: OrcBytes): Set[Int] = {
    val footers = tail.stripes.take(1).map(footer(tail, _, bytes))
    val streams = footers.flatMap { one =>
      one.getStreamsList.asScala ++ one.getEncryptionList.asScala.flatMap(_.getStreamsList.asScala)
    }
    streams.filter(one => BloomFilters(one.getKind)).map(_.getColumn).toSet
  }

  /**
   * The encrypted streams of a stripe, in the order of their places. As ORC's reader finds them: indexes precede data, and of
   * both the readable ones those of the variants.
   */
  def encryptedStreams(tail: OrcTail, stripe: OrcStripe, bytes: OrcBytes): Seq[OrcStream] = {
    val found = footer(tail, stripe, bytes)
    val streams = found.getStreamsList.asScala.map(Option.empty[OrcVariant] -> _) ++
      found.getEncryptionList.asScala.zipWithIndex.flatMap { case (one, id) =>
        one.getStreamsList.asScala.map(Option(tail.variants(id)) -> _)
      }
    val (index, data) = streams
      .filterNot { case (_, one) => Placeholders(one.getKind) }
      .partition { case (_, one) => StreamName.getArea(one.getKind) == StreamName.Area.INDEX }
    var at = stripe.offset
    (index ++ data).flatMap { case (variant, one) =>
      val from = at
      at += one.getLength
      variant.map { of =>
        val kind = one.getKind.getNumber
        val key = stripe.encryptedKeys(of.id)
        new OrcStream(from, one.getLength, of, key, one.getColumn, kind, stripe.encryptionId)
      }
    }.toSeq
  }

  /** The encrypted index of a variant's root in a stripe, as it is stored; none if there is none. */
  def indexOf(tail: OrcTail, stripe: OrcStripe, variant: OrcVariant, bytes: OrcBytes): Option[Array[Byte]] =
    encryptedStreams(tail, stripe, bytes)
      .find(one => one.variant.id == variant.id && one.isIndexOf(variant.root))
      .map { one =>
        Damage.of(tail.file) {
          Damage.require(
            one.length <= OrcLimits.StatisticsBytes,
            s"the index of column ${variant.root} in stripe ${stripe.id} has ${one.length} bytes"
          )
          bytes.read(one.offset, one.length.toInt)
        }
      }

  /** Of data and of an index that are elsewhere: their lengths take no room. */
  private[tail] val Placeholders = Set(Streams.ENCRYPTED_INDEX, Streams.ENCRYPTED_DATA)

  /** @throws io.pmeparquet.PmeException if a footer is damaged or contradicts the file's */
  def requireFooters(tail: OrcTail, stripes: Seq[OrcStripe], bytes: OrcBytes): Unit =
    stripes.foreach(footer(tail, _, bytes))

  private def footer(tail: OrcTail, stripe: OrcStripe, bytes: OrcBytes): OrcProto.StripeFooter =
    Damage.of(tail.file) {
      val stored = bytes.read(stripe.footerOffset, stripe.footerLength)
      try {
        val clear = tail.compression.decompress(stored, "it", OrcLimits.StripeFooterBytes)
        val found = OrcMessages.parse(OrcProto.StripeFooter.getDefaultInstance, clear, "its message")
        new StripeFooterCheck(tail, stripe).require(found)
        found
      } catch { case found: Damage => throw found.in(s"the footer of stripe ${stripe.id}") }
    }

  /** The footers of all stripes, and the statistics of stripes that everybody can read. */
  def messages(tail: OrcTail, bytes: OrcBytes): Iterator[Message] =
    tail.stripes.iterator.map(footer(tail, _, bytes)) ++ Iterator(
      Damage.of(tail.file)(statistics(tail, bytes))
    )

  private def statistics(tail: OrcTail, bytes: OrcBytes): OrcProto.Metadata = {
    val what = "the statistics of its stripes"
    val stored = bytes.read(tail.statisticsAt, tail.statisticsBytes)
    val clear = tail.compression.decompress(stored, what, OrcLimits.FooterBytes)
    OrcMessages.parse(OrcProto.Metadata.getDefaultInstance, clear, what)
  }

  /**
   * Opens the statistics that everybody can read.
   *
   * @throws io.pmeparquet.PmeException if they are damaged, or not of all stripes and columns
   */
  def requireStatistics(tail: OrcTail, bytes: OrcBytes): Unit = if (tail.statisticsBytes > 0) {
    Damage.of(tail.file) {
      val found = statistics(tail, bytes).getStripeStatsList.asScala
      Damage.require(
        found.isEmpty || found.size == tail.stripes.size,
        s"it has ${tail.stripes.size} stripes, but statistics of ${found.size}"
      )
      found.zipWithIndex.foreach { case (one, stripe) =>
        Damage.require(
          one.getColStatsCount == tail.types.size,
          s"it has ${tail.types.size} columns, but statistics of ${one.getColStatsCount} in stripe $stripe"
        )
      }
    }
  }
}

/** Compares the footer of a stripe with what the footer of the file says of the stripe. */
private final class StripeFooterCheck(tail: OrcTail, stripe: OrcStripe) {
  import StripeFooterCheck._

  private val room = stripe.indexLength + stripe.dataLength

  /** The bytes that the streams take, at most one more than there are. */
  private var taken = 0L

  def require(footer: OrcProto.StripeFooter): Unit = {
    OrcMessages.text(footer.getWriterTimezoneBytes, OrcLimits.TimeZoneBytes)
    val variants = footer.getEncryptionList.asScala
    Damage.require(
      variants.size == tail.variants.size,
      s"it has streams of ${variants.size} encryption variants, where there are ${tail.variants.size}"
    )
    requireEncodings(tail.types.head, footer.getColumnsList.asScala)
    requireStreams(tail.types.head, footer.getStreamsList.asScala)
    variants.zip(tail.variants).foreach { case (one, variant) =>
      requireEncodings(tail.types(variant.root), one.getEncodingList.asScala)
      requireStreams(tail.types(variant.root), one.getStreamsList.asScala)
    }
    // ORC's reader finds a stream by adding up the lengths of those before.
    Damage.require(
      taken == room,
      s"its streams have ${if (taken > room) "more than" else s"$taken of"} the $room bytes that the footer states"
    )
  }

  private def requireEncodings(root: OrcType, encodings: Iterable[OrcProto.ColumnEncoding]): Unit = {
    val count = root.maximumId - root.id + 1
    Damage.require(
      encodings.size == count,
      s"it has encodings of ${encodings.size} columns, where there are $count"
    )
    encodings.zipWithIndex.foreach { case (one, index) =>
      OrcMessages.unknownValue(one, OrcProto.ColumnEncoding.KIND_FIELD_NUMBER).foreach { number =>
        throw Damage.unknown(s"it has an unknown encoding, number $number")
      }
      if (Dictionaries(one.getKind)) requireDictionary(one.getDictionarySize, tail.types(root.id + index))
    }
  }

  private def requireDictionary(size: Int, column: OrcType): Unit = {
    // Each entry has a row, unless a row has many values.
    Damage.require(
      column.repeated || size <= stripe.rows,
      s"the dictionary of column ${column.id} has $size entries for ${stripe.rows} rows"
    )
    Damage.require(
      size <= OrcLimits.DictionaryEntries,
      s"the dictionary of column ${column.id} has $size entries; with this heap size at most " +
        s"${OrcLimits.DictionaryEntries} are accepted"
    )
  }

  private def requireStreams(root: OrcType, streams: Iterable[OrcProto.Stream]): Unit = {
    val seen = mutable.HashSet.empty[(Int, Streams)]
    streams.foreach { one =>
      val kind = kindOf(one)
      Damage.require(
        root.holds(one.getColumn),
        s"it has a stream of column ${one.getColumn}, which is not there"
      )
      if (!StripeCheck.Placeholders(kind)) {
        Damage.require(
          seen.add((one.getColumn, kind)),
          s"it has two streams of column ${one.getColumn} with kind $kind"
        )
        taken = if (one.getLength > room - taken) room + 1 else taken + one.getLength
      }
    }
  }

  private def kindOf(stream: OrcProto.Stream): Streams = {
    val kind = stream.getKind
    val unknown = OrcMessages.unknownValue(stream, OrcProto.Stream.KIND_FIELD_NUMBER)
    unknown.orElse(Some(kind.getNumber.toLong).filter(_ => Statistics(kind))).foreach { number =>
      throw Damage.unknown(s"it has a stream of an unknown kind, number $number")
    }
    Damage.require(stream.hasKind, "a stream has no kind")
    kind
  }
}

private object StripeFooterCheck {

  /** Streams that are in no stripe. */
  private val Statistics = Set(Streams.STRIPE_STATISTICS, Streams.FILE_STATISTICS)

  private val Dictionaries = Set(Encodings.DICTIONARY, Encodings.DICTIONARY_V2)
}
