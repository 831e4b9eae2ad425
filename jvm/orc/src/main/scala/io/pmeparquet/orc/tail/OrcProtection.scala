package io.pmeparquet.orc.tail

/** @param keys each of which opens the column: mostly one, none if it is not encrypted */
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
