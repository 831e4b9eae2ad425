package io.pmeparquet.spark.admin.sql

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  NamedArgumentExpression,
  RuntimeReplaceable,
  Unevaluable
}
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.pmeparquet.{PmeErrors, PmeException, Spelling}

/**
 * A parameter of a function: what callers write, and how its value is read.
 *
 * @param kind what a usage says of its value; empty for one that callers must give
 * @param isOptions whether its value has options of the format
 */
private[admin] final class Parameter[A] private (
    val name: String,
    val kind: String,
    val isOptions: Boolean,
    private[admin] val of: (FunctionArguments, String) => Option[A]
) {
  def usage: String = if (kind.isEmpty) name else s"$name => $kind"
}

private[admin] object Parameter {

  /** Text that callers must give. */
  def required(name: String): Parameter[String] = new Parameter(name, "", false, _.text(_).filter(_.nonEmpty))
  def text(name: String): Parameter[String] = new Parameter(name, "string", false, _.text(_))
  def flag(name: String): Parameter[Boolean] = new Parameter(name, "boolean", false, _.flag(_))
  def number(name: String): Parameter[Double] = new Parameter(name, "number", false, _.number(_))
  def texts(name: String): Parameter[Seq[String]] = new Parameter(name, "array", false, _.texts(_))
  def map(name: String): Parameter[Map[String, String]] = new Parameter(name, "map", false, _.map(_))
  def options(name: String): Parameter[Map[String, String]] = new Parameter(name, "map", true, _.map(_))
}

/**
 * The arguments of one of our SQL functions. They are constants, and no message repeats their values. ''Driver only.''
 */
private[admin] final class FunctionArguments private (function: String, byName: Map[String, Expression]) {

  def apply[A](parameter: Parameter[A]): Option[A] = parameter.of(this, parameter.name)

  /** @throws io.pmeparquet.PmeException if the caller has not given it */
  def required(parameter: Parameter[String], what: String): String =
    apply(parameter).getOrElse(throw bad(parameter.name, "it is missing", s"Give $what."))

  private[admin] def text(name: String): Option[String] = constant(name, "a string") {
    case (_: StringType, text: UTF8String) => text.toString
  }

  private[admin] def flag(name: String): Option[Boolean] = constant(name, "true or false") {
    case (_, flag: Boolean) => flag
  }

  private[admin] def number(name: String): Option[Double] = constant(name, "a number") {
    case (_: DecimalType, number: Decimal) => number.toDouble
    case (_: NumericType, number: Number) => number.doubleValue
  }

  private[admin] def texts(name: String): Option[Seq[String]] = constant(name, "an array of strings") {
    case (ArrayType(_: StringType, _), array: ArrayData) => elements(name, array)
    // Spark does not know the type of array().
    case (_, array: ArrayData) if array.numElements() == 0 => Nil
  }

  private[admin] def map(name: String): Option[Map[String, String]] = constant(name, "a map of strings") {
    case (MapType(_: StringType, _: StringType, _), map: MapData) => entries(name, map)
    // Spark does not know the type of map().
    case (_, map: MapData) if map.numElements() == 0 => Map.empty[String, String]
  }

  private def bad(name: String, why: String, remedy: String): PmeException =
    PmeErrors.badArgument(function, name, why, remedy)

  private def elements(name: String, array: ArrayData): Seq[String] = (0 until array.numElements()).map { i =>
    if (array.isNullAt(i)) throw bad(name, s"element ${i + 1} is NULL", "Remove it, or give a value.")
    array.getUTF8String(i).toString
  }

  private def entries(name: String, map: MapData): Map[String, String] = {
    val (keys, values) = (map.keyArray(), map.valueArray())
    (0 until map.numElements()).map { i =>
      val key = keys.getUTF8String(i).toString
      if (values.isNullAt(i)) throw bad(name, s"the value of '$key' is NULL", "Remove it, or give a value.")
      key -> values.getUTF8String(i).toString
    }.toMap
  }

  private def constant[A](name: String, what: String)(read: PartialFunction[(DataType, Any), A]): Option[A] =
    byName.get(name).map { found =>
      val argument = found.transform { case replaced: RuntimeReplaceable => replaced.replacement }
      if (!argument.foldable || argument.exists(_.isInstanceOf[Unevaluable]))
        throw bad(name, "it is not a constant", s"Give $what.")
      val value = argument.eval()
      if (value == null) throw bad(name, "it is NULL", s"Remove it, or give $what.")
      read.applyOrElse(
        (argument.dataType, value),
        (_: (DataType, Any)) => throw bad(name, s"it is of type ${argument.dataType.sql}", s"Give $what.")
      )
    }
}

private[admin] object FunctionArguments {

  /** @param names the names of all parameters; callers must name all but the first, because maps are easy to confuse */
  def of(function: String, names: Seq[String], arguments: Seq[Expression]): FunctionArguments = {
    val named = arguments.zipWithIndex.map {
      case (NamedArgumentExpression(name, value), _) => known(function, names, name) -> value
      case (value, 0) => names.head -> value
      case (_, place) =>
        throw PmeErrors.badArgument(
          function,
          (place + 1).toString,
          "it has no name",
          "Write it as name => value."
        )
    }
    named.groupBy(_._1).collectFirst {
      case (name, values) if values.size > 1 =>
        throw PmeErrors.badArgument(function, name, "it is given twice", "Give it once.")
    }
    new FunctionArguments(function, named.toMap)
  }

  private def known(function: String, names: Seq[String], name: String): String = {
    val lower = name.toLowerCase(Locale.ROOT)
    if (names.contains(lower)) lower
    else throw PmeErrors.unknownArgument(function, name, Spelling.nearest(name, names).head, names)
  }
}
