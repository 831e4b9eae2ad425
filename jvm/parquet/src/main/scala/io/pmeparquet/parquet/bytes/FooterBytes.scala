package io.pmeparquet.parquet.bytes

import java.nio.charset.StandardCharsets.US_ASCII

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.cipher.ModuleFrame

/**
 * The bytes of a file's footer, read but not yet authenticated: those before the length and magic at the end of the
 * file (specification §5.3).
 *
 * @param encrypted whether the magic marks the footer as encrypted (`PARE`) or not (`PAR1`)
 * @param tail the end of the file, as much as one read returned
 */
private[parquet] final class FooterBytes(val encrypted: Boolean, val segment: Segment, val tail: Segment) {

  /** SHA-256 of the end of the file: the footer, its length and the magic. */
  def sha256: Array[Byte] = {
    val bytes = java.util.Arrays.copyOfRange(segment.array, segment.at, segment.until)
    Sha256.ofBytes(FooterBytes.framed(bytes, encrypted))
  }
}

private[parquet] object FooterBytes {
  private val MagicBytes = 4
  private val LengthBytes = 4
  private val TailBytes = LengthBytes + MagicBytes
  private val MinFileBytes = MagicBytes + TailBytes
  private val EncryptedFooter = "PARE"
  private val PlainFooter = "PAR1"

  /** The first read covers most footers. */
  private val FirstReadBytes = 64 * 1024

  /** The offset at which the first page can begin. */
  val FirstPageOffset: Int = MagicBytes

  /** The end of a file with this footer. */
  def framed(footer: Array[Byte], encrypted: Boolean): Array[Byte] =
    footer ++ ModuleFrame.lengthOf(footer.length) ++ (if (encrypted) EncryptedFooter else PlainFooter)
      .getBytes(US_ASCII)

  def read(file: FileVersion, conf: Configuration, counters: ReadCounters = new ReadCounters): FooterBytes = {
    val bytes = new FileBytes(file, conf, counters)
    try read(bytes)
    finally bytes.close()
  }

  def read(bytes: FileBytes): FooterBytes = {
    val file = bytes.file.path.toString
    val length = bytes.file.length
    if (length < MinFileBytes) throw PmeErrors.damaged(file, s"it is $length bytes long")
    val first = length.min(FirstReadBytes.toLong).toInt
    val tail = bytes.read(Range(length - first, first))
    val footerLength = ModuleFrame.lengthAt(tail.array, tail.until - TailBytes)
    val magic = new String(tail.array, tail.until - MagicBytes, MagicBytes, US_ASCII)
    if (magic != EncryptedFooter && magic != PlainFooter)
      throw PmeErrors.damaged(file, "it does not end in PAR1 or PARE")
    if (footerLength <= 0 || footerLength > length - MinFileBytes)
      throw PmeErrors.damaged(
        file,
        s"its footer cannot be $footerLength bytes long in a file of $length bytes"
      )
    if (footerLength > Limits.FooterLength)
      throw PmeErrors.damaged(
        file,
        s"the length of its footer is $footerLength bytes; with this heap size at most ${Limits.FooterLength} are parsed"
      )
    val range = Range(length - TailBytes - footerLength, footerLength)
    new FooterBytes(
      magic == EncryptedFooter,
      if (tail.holds(range)) tail.slice(range) else bytes.read(range),
      tail
    )
  }
}
