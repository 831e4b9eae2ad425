package io.pmeparquet.orc.tail

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.orc.OrcProto

/**
 * Reads the end of a file: the postscript, which says where the footer is and how it is compressed, and the footer. What
 * they state is compared with each other, and with where the file has room for it.
 */
private[tail] final class TailReader(path: Path, length: Long, bytes: OrcBytes) {
  import OrcStripe.Magic
  import TailReader._

  def read(): OrcTail = {
    val (footer, postScript, _) = parsed()
    tail(footer, postScript)
  }

  /** The same, with the structures that it is of. */
  def end(): OrcEnd = {
    val (footer, postScript, stored) = parsed()
    new OrcEnd(tail(footer, postScript), footer, postScript.message, stored, bytes)(
      TailReader.end(path, _, _)
    )
  }

  /** The footer and the postscript, and both as they are stored. */
  private def parsed(): (OrcProto.Footer, CheckedPostScript, Array[Byte]) = {
    Damage.require(length > Magic.length + 1, s"it is $length bytes long")
    val first = length.min(FirstBytes.toLong).toInt
    val end = bytes.read(length - first, first)
    val postScript = postScriptOf(end)
    if (postScript.compression.kind == "SNAPPY") BoundedSnappy.use()
    val from = length - postScript.ownBytes - postScript.footerBytes
    val at = (from - (length - first)).toInt
    val stored =
      if (at >= 0) java.util.Arrays.copyOfRange(end, at, end.length)
      else bytes.read(from, postScript.footerBytes + postScript.ownBytes)
    val clear = postScript.compression
      .decompress(stored.take(postScript.footerBytes), "its footer", OrcLimits.FooterBytes)
    val footer = OrcMessages.parse(OrcProto.Footer.getDefaultInstance, clear, "its footer")
    (footer, postScript, stored)
  }

  private def postScriptOf(end: Array[Byte]): CheckedPostScript = {
    val own = end.last & 0xff
    Damage.require(own > Magic.length && own < end.length, s"its postscript cannot be $own bytes long")
    val found = java.util.Arrays.copyOfRange(end, end.length - 1 - own, end.length - 1)
    // The first version of the format has its magic at the beginning only.
    def begins = bytes.read(0, Magic.length).sameElements(Magic)
    if (!found.endsWith(Magic) && !begins)
      throw Damage("it neither begins nor ends with ORC, so it is no ORC file")
    val parsed = OrcMessages.parse(OrcProto.PostScript.getDefaultInstance, found, "its postscript")
    new CheckedPostScript(parsed, own + 1, length)
  }

  private def tail(footer: OrcProto.Footer, postScript: CheckedPostScript): OrcTail = {
    val columns = OrcTypes.of(footer.getTypesList.asScala.toIndexedSeq)
    val statistics = footer.getStatisticsCount
    Damage.require(
      statistics == 0 || statistics == columns.size,
      s"it has ${columns.size} columns, but statistics of $statistics"
    )
    val encryption = if (footer.hasEncryption) Some(OrcEncryption.of(footer.getEncryption, columns)) else None
    requireStatistics(encryption, postScript)
    val variants = encryption.fold(0)(_.variants.size)
    val stride = footer.getRowIndexStride
    val bodyEnd = length - postScript.tailBytes
    val stripes = OrcStripe.all(footer.getStripesList.asScala.toSeq, bodyEnd, variants, stride)
    val rows = stripes.iterator.map(_.rows).sum
    Damage.require(
      footer.getNumberOfRows == rows,
      s"it states ${footer.getNumberOfRows} rows, but its stripes have $rows"
    )
    new OrcTail(
      path,
      length,
      rows,
      postScript.compression,
      postScript.version,
      columns,
      stripes,
      encryption,
      stride,
      metadata(footer),
      length - postScript.ownBytes - postScript.footerBytes - postScript.metadataBytes,
      postScript.metadataBytes
    )
  }

  private def metadata(footer: OrcProto.Footer): Map[String, Array[Byte]] = {
    val found = mutable.LinkedHashMap.empty[String, Array[Byte]]
    footer.getMetadataList.asScala.foreach { entry =>
      val name = OrcMessages.text(entry.getNameBytes)
      // ORC's reader takes the first of a name, and other readers the last.
      Damage.require(
        found.put(name, entry.getValue.toByteArray).isEmpty,
        s"its metadata has two entries '$name'"
      )
    }
    found.toMap
  }

  /** ORC's reader finds the encrypted statistics of stripes by adding up the lengths of those before. */
  private def requireStatistics(encryption: Option[OrcEncryption], postScript: CheckedPostScript): Unit = {
    val lengths = encryption.fold(Seq.empty[Long])(_.variants.flatMap(_.statisticsBytes))
    val room = postScript.encryptedBytes.toLong
    Damage.require(
      lengths.forall(_ <= room) && lengths.foldLeft(0L)((sum, more) => (sum + more).min(room + 1)) <= room,
      s"the encrypted statistics of its stripes have more than the $room bytes that its postscript states"
    )
  }
}

private[tail] object TailReader {

  /** One read mostly has it all; ORC's reader begins with as much. */
  private val FirstBytes = 16 * 1024

  def read(path: Path, length: Long, bytes: OrcBytes): OrcTail =
    Damage.of(path.toString)(if (length == 0) empty(path) else new TailReader(path, length, bytes).read())

  /** @param length more than 0 */
  def end(path: Path, length: Long, bytes: OrcBytes): OrcEnd =
    Damage.of(path.toString)(new TailReader(path, length, bytes).end())

  /** Hive writes such files for tables without rows, and ORC's reader accepts them. */
  private def empty(path: Path) = new OrcTail(
    path,
    0,
    0,
    OrcCompression(OrcCompression.None, 0),
    "0.12",
    OrcTypes.empty,
    IndexedSeq.empty,
    None,
    0,
    Map.empty,
    0,
    0
  )
}

/**
 * The last structure of a file, with the lengths of those before it: each has room in the file.
 *
 * @param message as it was parsed
 * @param ownBytes its length, with the byte that states it
 */
private final class CheckedPostScript(val message: OrcProto.PostScript, val ownBytes: Int, fileLength: Long) {
  import CheckedPostScript._

  Damage.require(
    !message.hasMagic || message.getMagicBytes.toByteArray.sameElements(OrcStripe.Magic),
    "its postscript has another magic than ORC"
  )
  requireRoom()

  val footerBytes: Int = message.getFooterLength.toInt

  /** The statistics of stripes, which are before the footer. */
  val metadataBytes: Int = message.getMetadataLength.toInt

  /** The encrypted statistics of stripes, which are before those. */
  val encryptedBytes: Int = message.getStripeStatisticsLength.toInt

  val compression: OrcCompression = {
    OrcMessages.unknownValue(message, OrcProto.PostScript.COMPRESSION_FIELD_NUMBER).foreach { number =>
      throw Damage.unknown(s"it is compressed by an unknown method, number $number")
    }
    val kind = message.getCompression.name
    val block = if (message.hasCompressionBlockSize) message.getCompressionBlockSize else DefaultBlockBytes
    if (kind == OrcCompression.None) OrcCompression(kind, 0)
    else {
      Damage.require(
        block > 0 && block <= OrcLimits.BlockBytes,
        s"the block size of its compression is $block bytes, and at most ${OrcLimits.BlockBytes} are accepted"
      )
      OrcCompression(kind, block.toInt)
    }
  }

  /** Of the format: 0.11, 0.12. */
  val version: String = {
    val numbers = message.getVersionList.asScala.map(_.toInt).toList
    Versions.getOrElse(
      numbers,
      throw Damage.unknown(s"the version of its format is ${numbers.mkString(".")}")
    )
  }

  /** The length of everything after the last stripe. */
  def tailBytes: Int = ownBytes + footerBytes + metadataBytes + encryptedBytes

  private def requireRoom(): Unit = {
    val footer = message.getFooterLength
    Damage.require(
      footer <= OrcLimits.FooterBytes,
      s"the length of its footer is $footer bytes; with this heap size at most ${OrcLimits.FooterBytes} are parsed"
    )
    val left = fileLength - ownBytes - OrcStripe.Magic.length
    val most = left.max(0).min(OrcLimits.TailBytes.toLong)
    val lengths = Seq(footer, message.getMetadataLength, message.getStripeStatisticsLength)
    // Each by itself first, so that the sum cannot overflow.
    Damage.require(
      lengths.forall(_ <= most) && lengths.sum <= most,
      s"its footer and the statistics before it cannot be ${lengths.mkString(", ")} bytes long in a file of $fileLength " +
        s"bytes; with this heap size at most ${OrcLimits.TailBytes} are read"
    )
  }
}

private object CheckedPostScript {
  private val DefaultBlockBytes = 256L * 1024

  /** Those that ORC's reader reads. A file without a version is of the first. */
  private val Versions =
    Map(Nil -> "0.11", List(0, 11) -> "0.11", List(0, 12) -> "0.12", List(1, 9999) -> "UNSTABLE-PRE-2.0")
}
