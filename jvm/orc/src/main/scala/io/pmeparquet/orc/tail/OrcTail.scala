package io.pmeparquet.orc.tail

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/**
 * What an ORC file states about itself: its columns, stripes and encryption. Nothing authenticates it.
 *
 * Our own parser reads it, which bounds every length before ORC's reader meets the file.
 *
 * @param length of the file, in bytes
 * @param version of the format: `0.11`, `0.12`
 * @param writer who wrote it: the format's numbers, and the version as text if there is one
 * @param types all columns, in the order of their ids; the first is the root
 * @param rowIndexStride the rows of a row group, 0 if there are none
 * @param userMetadata what writers add: `org.apache.spark.version`, `hive.acid.key.index`
 */
final class OrcTail private[tail] (
    val path: Path,
    val length: Long,
    val rows: Long,
    val compression: OrcCompression,
    val version: String,
    val writer: OrcWriter,
    val types: IndexedSeq[OrcType],
    val stripes: IndexedSeq[OrcStripe],
    val encryption: Option[OrcEncryption],
    val rowIndexStride: Int,
    val userMetadata: Map[String, Array[Byte]],
    private[tail] val statisticsAt: Long,
    private[tail] val statisticsBytes: Int
) {
  def file: String = path.toString

  def variants: IndexedSeq[OrcVariant] = encryption.fold(IndexedSeq.empty[OrcVariant])(_.variants)

  /** The encrypted copies of a column, in the order in which ORC's reader tries them. */
  def variantsOf(column: Int): Seq[OrcVariant] =
    if (types.isDefinedAt(column)) copies(column).variants else Nil

  /** The encrypted copies of a column, of the columns that it is in, and of those in it. */
  def variantsAround(column: OrcType): Seq[OrcVariant] =
    (variantsOf(column.id) ++ (column.id + 1 to column.maximumId).flatMap(variantsByRoot.getOrElse(_, Nil)))
      .sortBy(_.id)

  /** Each leaf column with the keys of its encrypted copies. Without a key, everybody can read it. */
  def protection: Seq[OrcProtection] =
    types.filter(_.isLeaf).map(column => OrcProtection(column, copies(column.id).keys))

  private lazy val variantsByRoot = variants.groupBy(_.root)
  private lazy val copies = OrcCopies.of(types, variantsByRoot)

  /** The stripes that ORC's reader reads for a part of the file: those that begin in it. */
  def stripesIn(start: Long, length: Long): IndexedSeq[OrcStripe] =
    stripes.filter(stripe => stripe.offset >= start && stripe.offset - start < length)

  override def toString: String =
    s"$file: ${types.size} columns, ${stripes.size} stripes, $rows rows, ${variants.size} encryption variants"
}

/**
 * @param implementation 0 ORC's in Java, 1 in C++, 2 Presto, 3 Go, 4 Trino, 5 cuDF
 * @param version of the implementation, by which readers know its mistakes
 */
final case class OrcWriter private[tail] (implementation: Int, version: Int, software: Option[String])

object OrcTail {

  /** One read mostly has it all; ORC's reader begins with as much. */
  private val FirstBytes = 16 * 1024

  /**
   * @param length of the file, in bytes, as listed: ORC's reader must be given the same
   * @throws io.pmeparquet.PmeException if the file is damaged or contradicts itself
   */
  def read(path: Path, length: Long, conf: Configuration): OrcTail =
    OpenedOrc.using(path, length, conf)(_.tail)

  private[tail] def read(path: Path, length: Long, bytes: OrcBytes): OrcTail =
    Damage.of(path.toString)(if (length == 0) empty(path) else parse(path, length, bytes))

  /** Hive writes such files for tables without rows, and ORC's reader accepts them. */
  private def empty(path: Path) = new OrcTail(
    path,
    0,
    0,
    OrcCompression(OrcCompression.None, 0),
    "0.12",
    OrcWriter(0, 0, None),
    OrcTypes.empty,
    IndexedSeq.empty,
    None,
    0,
    Map.empty,
    0,
    0
  )

  private def parse(path: Path, length: Long, bytes: OrcBytes): OrcTail = {
    Damage.require(length > PostScript.Magic.length + 1, s"it is $length bytes long")
    val first = length.min(FirstBytes.toLong).toInt
    val end = bytes.read(length - first, first)
    val postScript = PostScript.of(postScriptOf(end, bytes, length), length)
    if (postScript.compression.kind == "SNAPPY") BoundedSnappy.use()
    val from = length - postScript.ownBytes - postScript.footerBytes
    val at = (from - (length - first)).toInt
    val stored =
      if (at >= 0) java.util.Arrays.copyOfRange(end, at, at + postScript.footerBytes)
      else bytes.read(from, postScript.footerBytes)
    val footer = postScript.compression.decompress(stored, "its footer", OrcLimits.FooterBytes)
    new OrcFooter(Wire.of(footer, "its footer")).tail(path, length, postScript)
  }

  private def postScriptOf(end: Array[Byte], bytes: OrcBytes, length: Long): Array[Byte] = {
    val own = end.last & 0xff
    Damage.require(
      own > PostScript.Magic.length && own < end.length,
      s"its postscript cannot be $own bytes long"
    )
    val found = java.util.Arrays.copyOfRange(end, end.length - 1 - own, end.length - 1)
    // The first version of the format has its magic at the beginning only.
    def begins = bytes.read(0, PostScript.Magic.length.min(length.toInt)).sameElements(PostScript.Magic)
    if (!found.endsWith(PostScript.Magic) && !begins)
      throw Damage("it neither begins nor ends with ORC, so it is no ORC file")
    found
  }
}
