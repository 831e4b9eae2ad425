package io.pmeparquet.orc.tail

import java.io.ByteArrayOutputStream

import org.apache.hadoop.fs.Path
import org.apache.orc.impl.KeyProvider
import org.apache.orc.OrcProto

/**
 * A file whose tail an attacker rewrites: the structures are those of the file, changed, and stored without compression
 * in chunks of the file's block size.
 */
final class Rewritten(path: Path, provider: KeyProvider = OrcFiles.keys()) {
  private val original = OrcFiles.bytes(path)
  private val tail = OrcFiles.reader(path, provider).getFileTail
  private val compressed = tail.getPostscript.getCompression != OrcProto.CompressionKind.NONE
  private val block = tail.getPostscript.getCompressionBlockSize.toInt

  def footer: OrcProto.Footer.Builder = tail.getFooter.toBuilder

  def postScript: OrcProto.PostScript.Builder = tail.getPostscript.toBuilder

  /** The bytes of a structure as chunks. */
  def stored(bytes: Array[Byte]): Array[Byte] =
    if (!compressed) bytes
    else {
      val out = new ByteArrayOutputStream
      bytes.grouped(block).foreach(part => out.write(chunk(part, isStored = true)))
      out.toByteArray
    }

  def chunk(content: Array[Byte], isStored: Boolean): Array[Byte] = {
    val header = content.length * 2 + (if (isStored) 1 else 0)
    Array(header, header >> 8, header >> 16).map(_.toByte) ++ content
  }

  /** With another footer and postscript. */
  def withTail(footer: Array[Byte], postScript: OrcProto.PostScript.Builder): Array[Byte] = {
    val end = postScript.setFooterLength(footer.length.toLong).build().toByteArray
    original.take(footerAt) ++ footer ++ end :+ end.length.toByte
  }

  def withFooter(changed: OrcProto.Footer.Builder): Array[Byte] =
    withTail(stored(changed.build().toByteArray), postScript)

  /** With another postscript, whatever it states. */
  def withPostScript(changed: OrcProto.PostScript.Builder): Array[Byte] = {
    val end = changed.build().toByteArray
    original.take(footerAt + tail.getPostscript.getFooterLength.toInt) ++ end :+ end.length.toByte
  }

  /** The footer of the last stripe. */
  def stripeFooter: OrcProto.StripeFooter.Builder = {
    val stripe = lastStripe
    val at = (stripe.getOffset + stripe.getIndexLength + stripe.getDataLength).toInt
    val bytes = original.slice(at, at + stripe.getFooterLength.toInt)
    val clear = OrcFiles.tail(path).compression.decompress(bytes, "it", OrcLimits.StripeFooterBytes)
    OrcProto.StripeFooter.parseFrom(clear).toBuilder
  }

  /** With another footer of the last stripe, as it is stored. */
  def withStripeFooter(bytes: Array[Byte]): Array[Byte] = {
    val stripe = lastStripe
    val at = (stripe.getOffset + stripe.getIndexLength + stripe.getDataLength).toInt
    val changed = footer
    val last = changed.getStripesCount - 1
    changed.setStripes(last, stripe.toBuilder.setFooterLength(bytes.length.toLong))
    val newFooter = stored(changed.build().toByteArray)
    val end = postScript.setFooterLength(newFooter.length.toLong).build().toByteArray
    val between = original.slice(at + stripe.getFooterLength.toInt, footerAt)
    original.take(at) ++ bytes ++ between ++ newFooter ++ end :+ end.length.toByte
  }

  def withStripeFooter(changed: OrcProto.StripeFooter.Builder): Array[Byte] =
    withStripeFooter(stored(changed.build().toByteArray))

  def bytes: Array[Byte] = original.clone()

  /** Where the footer begins. */
  val footerAt: Int =
    original.length - 1 - tail.getPostscriptLength.toInt - tail.getPostscript.getFooterLength.toInt

  private def lastStripe = tail.getFooter.getStripes(tail.getFooter.getStripesCount - 1)
}
