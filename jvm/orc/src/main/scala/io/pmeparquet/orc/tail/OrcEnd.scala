package io.pmeparquet.orc.tail

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.orc.protobuf.{ByteString, Message}
import org.apache.orc.OrcProto

import io.pmeparquet.{PmeErrors, Sha256}

/**
 * An encrypted local key of a file.
 *
 * @param stripe the first stripe with it; none if the footer has it for the file's statistics, and stripes mostly as well
 */
final class OrcLocalKey private[tail] (
    val variant: OrcVariant,
    val encrypted: Array[Byte],
    val stripe: Option[OrcStripe]
)

/**
 * The footer and postscript of a file, which can be written again with other encrypted local keys.
 *
 * Local keys stay the same, so stripes and statistics, which they encrypt, stay as they are. Neither footer nor
 * postscript is encrypted: nothing is encrypted again, and no initialization vector is used twice.
 *
 * @param stored both as the file has them
 * @param reading reads the end of a file of a length
 */
final class OrcEnd private[tail] (
    val tail: OrcTail,
    footer: OrcProto.Footer,
    postScript: OrcProto.PostScript,
    stored: Array[Byte],
    bytes: OrcBytes
)(reading: (Long, OrcBytes) => OrcEnd) {

  /** Where the footer begins. */
  val footerOffset: Long = tail.length - stored.length

  def sha256: Array[Byte] = Sha256.ofBytes(stored)

  /**
   * Fails if something of the file has an unknown meaning, and may hold keys: an unknown field, or bytes that no structure
   * refers to. ORC's writers pad stripes with zeros; those of streams leave older footers between them.
   *
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED`
   */
  def requireKnown(): Unit = {
    val parts = Iterator[Message](footer, postScript) ++ StripeCheck.messages(tail, bytes)
    parts.map(OrcMessages.unknownField).collectFirst { case Some(part) =>
      throw PmeErrors.unknownPart(tail.file, part, "it may hold keys, which would stay as they are")
    }
    val ends = OrcStripe.Magic.length.toLong +: tail.stripes.map(_.end)
    val begins = tail.stripes.map(_.offset) :+ statisticsAt
    val left = ends.zip(begins) :+ (statistics.lastOption.fold(statisticsAt)(_.end) -> tail.statisticsAt)
    if (left.exists { case (from, until) => !areZeros(from, until) }) throw PmeErrors.orcLeftovers(tail.file)
  }

  private def areZeros(from: Long, until: Long): Boolean =
    Iterator
      .iterate(from)(_ + OrcEnd.PartBytes)
      .takeWhile(_ < until)
      .forall(at => bytes.read(at, (until - at).min(OrcEnd.PartBytes).toInt).forall(_ == 0))

  private def statisticsAt = tail.statisticsAt - postScript.getStripeStatisticsLength

  /** Each encrypted local key of each variant once. */
  def localKeys: Seq[OrcLocalKey] = {
    val seen = mutable.HashSet.empty[(Int, ByteString)]
    val found = Vector.newBuilder[OrcLocalKey]
    def add(variant: OrcVariant, encrypted: Array[Byte], stripe: Option[OrcStripe]): Unit =
      if (seen.add(variant.id -> ByteString.copyFrom(encrypted)))
        found += new OrcLocalKey(variant, encrypted, stripe)
    tail.variants.foreach(variant => add(variant, variant.encryptedKey, None))
    var last = IndexedSeq.empty[Array[Byte]]
    tail.stripes.foreach { stripe =>
      // Most stripes have those of the stripe before.
      if (!(stripe.encryptedKeys eq last))
        tail.variants.foreach(variant => add(variant, stripe.encryptedKeys(variant.id), Some(stripe)))
      last = stripe.encryptedKeys
    }
    found.result()
  }

  /** The encrypted statistics of stripes, in the order of their places: between the last stripe and the footer. */
  def statistics: Seq[OrcStream] = {
    var at = statisticsAt
    for (
      variant <- tail.variants;
      one <- footer.getEncryption.getVariants(variant.id).getStripeStatisticsList.asScala
    )
      yield {
        val from = at
        at += one.getLength
        new OrcStream(
          from,
          one.getLength,
          variant,
          variant.encryptedKey,
          one.getColumn,
          OrcStream.StripeStatistics,
          tail.stripes.size + 1L
        )
      }
  }

  /**
   * Footer and postscript with other keys.
   *
   * @param keys the new master key of a variant
   * @param local the new form of an encrypted local key of a variant
   * @param statistics the new form of a variant's encrypted statistics of the file, of the same length
   * @return their bytes, and how the file with them looks to a reader
   * @throws io.pmeparquet.PmeException if a reader would refuse the file
   */
  def withKeys(
      keys: OrcVariant => OrcKey,
      local: (OrcVariant, Array[Byte]) => Array[Byte],
      statistics: OrcVariant => Array[Byte] = _.fileStatistics
  ): (Array[Byte], OrcTail) = {
    val changed = footer.toBuilder
    val encryption = changed.getEncryptionBuilder
    // One entry for each key: ORC's reader notes by entry whether it has the key.
    val distinct = tail.variants.map(keys).distinct
    encryption.clearKey()
    distinct.foreach { key =>
      encryption.addKeyBuilder().setKeyName(key.name).setKeyVersion(key.version).setAlgorithm(algorithm(key))
    }
    def after(variant: OrcVariant, encrypted: ByteString) =
      ByteString.copyFrom(local(variant, encrypted.toByteArray))
    tail.variants.foreach { variant =>
      val stated = encryption.getVariantsBuilder(variant.id)
      stated.setKey(distinct.indexOf(keys(variant))).setEncryptedKey(after(variant, stated.getEncryptedKey))
      if (stated.hasFileStatistics) stated.setFileStatistics(ByteString.copyFrom(statistics(variant)))
    }
    changed.getStripesBuilderList.asScala.foreach { stripe =>
      (0 until stripe.getEncryptedLocalKeysCount).foreach { id =>
        stripe.setEncryptedLocalKeys(id, after(tail.variants(id), stripe.getEncryptedLocalKeys(id)))
      }
    }
    val end = encoded(changed.build())
    end -> asRead(end, changed.build())
  }

  private def algorithm(key: OrcKey) = OrcProto.EncryptionAlgorithm.forNumber(key.algorithm.getSerialization)

  private def encoded(changed: OrcProto.Footer): Array[Byte] = {
    val content = tail.compression.compress(changed.toByteArray)
    val last = postScript.toBuilder.setFooterLength(content.length.toLong).build().toByteArray
    if (last.length > OrcEnd.MaxPostScriptBytes)
      throw PmeErrors.orcDamaged(tail.file, s"its postscript would have ${last.length} bytes")
    content ++ last :+ last.length.toByte
  }

  /** Reads the new end by the rules for every file: what does not pass is not written. */
  private def asRead(end: Array[Byte], wanted: OrcProto.Footer): OrcTail = {
    val spliced = new SplicedBytes(bytes, footerOffset, end)
    val made = reading(footerOffset + end.length, spliced)
    if (!made.isOf(wanted))
      throw new IllegalStateException("internal error: a footer with new keys is not read as it was written")
    made.tail
  }

  private def isOf(wanted: OrcProto.Footer) = footer == wanted
}

private object OrcEnd {

  /** One byte states the length. */
  val MaxPostScriptBytes = 255

  val PartBytes = 64L * 1024
}
