package io.pmeparquet.parquet.summary

import java.lang.reflect.InvocationTargetException

import scala.collection.JavaConverters._
import scala.util.control.NonFatal
import scala.util.Try

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * A kind of index, with its settings. Its name and parameters are those in manifests (docs/snapshot-format.md).
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

/**
 * What one file can contain of one column, so that a query can leave the file out. Values are encoded as in `Statistics`
 * of the Parquet format: plain, without the length of a byte array. ''Crosses the wire.''
 */
sealed trait ColumnSummary extends Serializable

object ColumnSummary {

  /** @param bounds of all values that are not null; none if there are no such values, or nothing bounds them */
  final case class Range(bounds: Option[(Array[Byte], Array[Byte])], nulls: Long) extends ColumnSummary

  /** @param values all distinct values that are not null */
  final case class ValueList(values: List[Array[Byte]], nulls: Long) extends ColumnSummary

  /** @param bits of a split-block Bloom filter of all values that are not null (`BloomFilter.md` of the Parquet format) */
  final case class Bloom(bits: Array[Byte], nulls: Long) extends ColumnSummary

  /** @param content made by a class of the user's */
  final case class OfClass(content: Array[Byte]) extends ColumnSummary
}

/** Loads classes of the user's. A caller must know that whoever named the class may choose what code runs. */
object SummaryClasses {

  /** The longest summary that a class may make. */
  private[summary] val MaxBytes: Int = 128 * 1024

  /**
   * A new instance, which has the settings of its index.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the class cannot be loaded or does not take the settings
   */
  def load(kind: SummaryKind.OfClass): SummaryClass = {
    val instance =
      try loaded(kind.className).getConstructor().newInstance()
      catch {
        case failed: InvocationTargetException =>
          throw PmeErrors.summaryClassFailed(
            kind.className,
            "its constructor",
            failed.getCause.toString,
            failed.getCause
          )
        case failed @ (_: ReflectiveOperationException | _: LinkageError) =>
          throw PmeErrors.badSummaryClass(kind.className, because(failed), failed)
      }
    try instance.configure(kind.settings.toMap.asJava)
    catch {
      case NonFatal(failed) =>
        throw PmeErrors.summaryClassFailed(kind.className, "its settings", failed.toString, failed)
    }
    instance
  }

  /** The class. None of its code has run, because it may not be a summary class. */
  private def loaded(name: String): Class[_ <: SummaryClass] = {
    val loader = Option(Thread.currentThread().getContextClassLoader).getOrElse(getClass.getClassLoader)
    val found =
      try Class.forName(name, false, loader)
      catch {
        case failed @ (_: ReflectiveOperationException | _: LinkageError) =>
          throw PmeErrors.badSummaryClass(name, because(failed), failed)
      }
    if (!classOf[SummaryClass].isAssignableFrom(found))
      throw PmeErrors.badSummaryClass(name, s"it does not implement ${classOf[SummaryClass].getName}")
    found.asSubclass(classOf[SummaryClass])
  }

  private def because(failed: Throwable) = s"${failed.getClass.getName}: ${failed.getMessage}"
}
