package io.pmeparquet.orc.tail

import org.apache.hadoop.fs.Path

/**
 * What an ORC file states about itself: its columns, stripes and encryption. Nothing authenticates it.
 *
 * It is read ([[TailReader]]) with a bound for every length before ORC's reader meets the file.
 *
 * @param length of the file, in bytes
 * @param version of the format: `0.11`, `0.12`
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

/** @param keys any one opens the column: mostly one, none if it is not encrypted */
final case class OrcProtection private[tail] (column: OrcType, keys: Seq[OrcKey])

/**
 * The encrypted copies of a column with their keys. Columns with the same copies share one object.
 *
 * @param variants in the order in which ORC's reader tries them
 */
private[tail] final class OrcCopies(val variants: IndexedSeq[OrcVariant]) {
  val keys: Seq[OrcKey] = variants.map(_.key).distinct
}

private[tail] object OrcCopies {

  /** Those of each column. The work is as much as [[OrcLimits.VariantColumns]] bounds, and one look at each column. */
  def of(types: IndexedSeq[OrcType], byRoot: Map[Int, IndexedSeq[OrcVariant]]): IndexedSeq[OrcCopies] = {
    val none = new OrcCopies(IndexedSeq.empty)
    // Roots that the next column may be in, the innermost first, each with its last column.
    var open = List.empty[(Int, OrcCopies)]
    types.map { column =>
      open = open.dropWhile { case (last, _) => last < column.id }
      val outer = open.headOption.fold(none)(_._2)
      byRoot.get(column.id).fold(outer) { own =>
        val all = new OrcCopies((outer.variants ++ own).sortBy(_.id))
        open = (column.maximumId, all) :: open
        all
      }
    }
  }
}
