package io.pmeparquet.parquet.summary

import scala.util.Try

import io.pmeparquet.{PmeErrors, PmeException}

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
    val Name = "minMax"
    override def name: String = Name
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

  /**
   * What a manifest or a caller names. A class is not loaded.
   *
   * @param parameters by their names; those that are left out have their defaults
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if there is no such kind, or a parameter is unknown or not valid
   */
  def parse(name: String, parameters: Seq[(String, String)]): SummaryKind = {
    parameters.groupBy(_._1).collectFirst { case (twice, all) if all.size > 1 => twice }.foreach { twice =>
      throw bad(s"$name, $twice", parameters.filter(_._1 == twice).map(_._2).mkString(", "), "one value")
    }
    val values = parameters.toMap
    name match {
      case MinMax.Name =>
        known(name, parameters, Nil)
        MinMax
      case ValueList.Name =>
        known(name, parameters, Seq("max"))
        ValueList(read(name, values, "max", DefaultMax, s"a whole number from 1 to $MostValues") { text =>
          Try(text.toInt).toOption.filter(max => max >= 1 && max <= MostValues)
        })
      case Bloom.Name =>
        known(name, parameters, Seq("fpp", "ndv"))
        val fpp = read(name, values, "fpp", DefaultFpp, s"a number above 0 and at most $MostFpp") { text =>
          Try(text.toDouble).toOption.filter(fpp => fpp > 0 && fpp <= MostFpp)
        }
        val ndv = read(name, values, "ndv", Option.empty[Long], "a whole number from 1") { text =>
          Try(text.toLong).toOption.filter(_ >= 1).map(Option(_))
        }
        Bloom(fpp, ndv)
      case OfClass.Name =>
        val className = values
          .get("class")
          .filter(_.nonEmpty)
          .getOrElse(throw bad(s"$name, class", "", "the name of a class"))
        OfClass(className, parameters.filter(_._1 != "class"))
      case other =>
        throw bad("kind", other, s"${MinMax.Name}, ${ValueList.Name}, ${Bloom.Name} or ${OfClass.Name}")
    }
  }

  private val DefaultMax = 64
  private val MostValues = 1000
  private val DefaultFpp = 0.01
  private val MostFpp = 0.5

  private def read[A](kind: String, values: Map[String, String], name: String, otherwise: A, allowed: String)(
      parsed: String => Option[A]
  ): A = values
    .get(name)
    .fold(otherwise)(text => parsed(text).getOrElse(throw bad(s"$kind, $name", text, allowed)))

  private def known(kind: String, parameters: Seq[(String, String)], names: Seq[String]): Unit =
    parameters.map(_._1).find(!names.contains(_)).foreach { other =>
      throw bad(
        kind,
        other,
        if (names.isEmpty) "no parameters" else s"the parameters ${names.mkString(" and ")}"
      )
    }

  private def bad(where: String, value: String, allowed: String): PmeException =
    PmeErrors.badOption(s"index ($where)", value, allowed)
}

/** @param column path of a leaf column */
final case class WantedSummary(column: List[String], kind: SummaryKind)

/** @param columnType of the column in Parquet, as text: a summary of another type says nothing */
final case class FoundSummary(columnType: String, summary: ColumnSummary)
