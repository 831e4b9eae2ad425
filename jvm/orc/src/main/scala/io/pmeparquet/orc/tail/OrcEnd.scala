package io.pmeparquet.orc.tail

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.orc.protobuf.ByteString
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

  /** A part of them whose meaning is not known. It may hold keys. */
  def unknownPart: Option[String] =
    OrcMessages.unknownField(footer).orElse(OrcMessages.unknownField(postScript))

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

  /**
   * Footer and postscript with other keys.
   *
   * @param names the new name and version of each master key of the file, in their order
   * @param local the new form of an encrypted local key of a variant
   * @return their bytes, and how the file with them looks to a reader
   * @throws io.pmeparquet.PmeException if a reader would refuse the file
   */
  def withKeys(
      names: IndexedSeq[(String, Int)],
      local: (OrcVariant, Array[Byte]) => Array[Byte]
  ): (Array[Byte], OrcTail) = {
    val changed = footer.toBuilder
    val encryption = changed.getEncryptionBuilder
    names.zipWithIndex.foreach { case ((name, version), index) =>
      encryption.getKeyBuilder(index).setKeyName(name).setKeyVersion(version)
    }
    def after(variant: OrcVariant, encrypted: ByteString) =
      ByteString.copyFrom(local(variant, encrypted.toByteArray))
    tail.variants.foreach { variant =>
      val stated = encryption.getVariantsBuilder(variant.id)
      stated.setEncryptedKey(after(variant, stated.getEncryptedKey))
    }
    changed.getStripesBuilderList.asScala.foreach { stripe =>
      (0 until stripe.getEncryptedLocalKeysCount).foreach { id =>
        stripe.setEncryptedLocalKeys(id, after(tail.variants(id), stripe.getEncryptedLocalKeys(id)))
      }
    }
    val end = encoded(changed.build())
    end -> asRead(end, changed.build())
  }

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
}
