package io.pmeparquet.orc.tail

import java.nio.charset.StandardCharsets.US_ASCII

import scala.collection.mutable

/**
 * The last structure of a file, which says where the others are and how they are compressed.
 *
 * @param ownBytes its length, with the byte that states it
 * @param footerBytes the length of the footer, which is before it
 * @param metadataBytes the length of the statistics of stripes, which are before the footer
 * @param encryptedBytes the length of the encrypted statistics of stripes, which are before those
 * @param version of the format: 0.11, 0.12
 */
private[tail] final case class PostScript(
    ownBytes: Int,
    footerBytes: Int,
    metadataBytes: Int,
    encryptedBytes: Int,
    compression: OrcCompression,
    version: String,
    writerVersion: Int
) {

  /** The length of everything after the last stripe. */
  def tailBytes: Int = ownBytes + footerBytes + metadataBytes + encryptedBytes
}

private[tail] object PostScript {
  val Magic: Array[Byte] = "ORC".getBytes(US_ASCII)

  private val MagicField = 8000
  private val DefaultBlockBytes = 256 * 1024

  /** Those that ORC's reader reads. A file without a version is of the first. */
  private val Versions =
    Map(Seq() -> "0.11", Seq(0, 11) -> "0.11", Seq(0, 12) -> "0.12", Seq(1, 9999) -> "UNSTABLE-PRE-2.0")

  /** @param bytes the postscript without the byte with its length */
  def of(bytes: Array[Byte], fileLength: Long): PostScript = {
    var footer, metadata, encrypted = 0L
    var kind, writer = 0
    var block = DefaultBlockBytes.toLong
    val version = mutable.ArrayBuffer.empty[Int]
    val wire = Wire.of(bytes, "its postscript")
    wire.fields {
      case 1 => footer = wire.once.long()
      case 2 => kind = wire.once.int()
      case 3 => block = wire.once.long()
      case 4 => wire.ints(version += _)
      case 5 => metadata = wire.once.long()
      case 6 => writer = wire.once.int()
      case 7 => encrypted = wire.once.long()
      case MagicField =>
        val magic = wire.once.blob(Magic.length)
        Damage.require(magic.sameElements(Magic), "its postscript has another magic than ORC")
    }
    val own = bytes.length + 1
    requireRoom(own, footer, metadata, encrypted, fileLength)
    PostScript(
      own,
      footer.toInt,
      metadata.toInt,
      encrypted.toInt,
      compressionOf(kind, block),
      Versions.getOrElse(
        version.toList,
        throw Damage.unknown(s"the version of its format is ${version.mkString(".")}")
      ),
      writer
    )
  }

  private def requireRoom(own: Int, footer: Long, metadata: Long, encrypted: Long, fileLength: Long): Unit = {
    Damage.require(
      footer <= OrcLimits.FooterBytes,
      s"the length of its footer is $footer bytes; with this heap size at most ${OrcLimits.FooterBytes} are parsed"
    )
    val most =
      OrcLimits.TailBytes.min((fileLength - own - Magic.length).max(0L).min(Int.MaxValue.toLong).toInt)
    val lengths = Seq(footer, metadata, encrypted)
    // Each by itself first, so that the sum cannot overflow.
    Damage.require(
      lengths.forall(_ <= most) && lengths.sum <= most,
      s"its footer and the statistics before it cannot be ${lengths.mkString(", ")} bytes long in a file of $fileLength " +
        s"bytes; with this heap size at most ${OrcLimits.TailBytes} are read"
    )
  }

  private def compressionOf(kind: Int, block: Long): OrcCompression = {
    if (kind >= OrcCompression.Kinds.size)
      throw Damage.unknown(s"it is compressed by an unknown method, number $kind")
    val name = OrcCompression.Kinds(kind)
    if (name == OrcCompression.None) OrcCompression(name, 0)
    else {
      Damage.require(
        block > 0 && block <= OrcLimits.BlockBytes,
        s"the block size of its compression is $block bytes, and at most ${OrcLimits.BlockBytes} are accepted"
      )
      OrcCompression(name, block.toInt)
    }
  }
}
