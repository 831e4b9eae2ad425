package io.pmeparquet.parquet.summary

/**
 * A kind of index, with its settings. Its name and parameters are those in manifests (docs/snapshots.md, "Format").
 * ''Crosses the wire.''
 */
sealed trait SummaryKind extends Serializable {
  def name: String
  def parameters: Seq[(String, String)]
}

object SummaryKind {

  /** The least and the greatest value, from footers. */
  case object MinMax extends SummaryKind {
    override def name: String = "minMax"
    override def parameters: Seq[(String, String)] = Nil
  }

  /** All distinct values, if there are not more than `max`. */
  final case class ValueList(max: Int) extends SummaryKind {
    override def name: String = ValueList.Name
    override def parameters: Seq[(String, String)] = Seq("max" -> max.toString)
  }
  object ValueList { val Name = "valueList" }

  /**
   * A split-block Bloom filter.
   *
   * @param fpp the share of values that a file lacks and that its filter holds possible
   * @param ndv the number of distinct values in a file; none: counted in each file
   */
  final case class Bloom(fpp: Double, ndv: Option[Long]) extends SummaryKind {
    override def name: String = Bloom.Name
    override def parameters: Seq[(String, String)] =
      Seq("fpp" -> fpp.toString) ++ ndv.map(number => "ndv" -> number.toString)
  }
  object Bloom { val Name = "bloom" }

  /** A class of the user's. */
  final case class OfClass(className: String, settings: Seq[(String, String)]) extends SummaryKind {
    override def name: String = OfClass.Name
    override def parameters: Seq[(String, String)] = ("class" -> className) +: settings
  }
  object OfClass { val Name = "class" }
}

/** @param column path of a leaf column */
final case class WantedSummary(column: List[String], kind: SummaryKind)

/** @param columnType of the column in Parquet, as text: a summary of another type says nothing */
final case class FoundSummary(columnType: String, summary: ColumnSummary)
