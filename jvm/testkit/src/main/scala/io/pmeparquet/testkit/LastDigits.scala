package io.pmeparquet.testkit

import java.util

import org.apache.parquet.filter2.predicate.{FilterPredicate, Operators}

import io.pmeparquet.parquet.summary.SummaryClass

/** An index of a user's for tests: the last digits of a column of whole numbers. Setting `base` is another base than 10. */
final class LastDigits extends SummaryClass {
  private var base = 10

  override def configure(settings: util.Map[String, String]): Unit =
    settings.forEach((name, value) =>
      if (name == "base") base = value.toInt else throw new IllegalArgumentException(s"$name is no setting")
    )

  override def summarize(values: util.Iterator[Object]): Array[Byte] = {
    val found = new Array[Byte](base)
    values.forEachRemaining {
      case number: Number => found(digit(number)) = 1
      case other => throw new IllegalArgumentException(s"${other.getClass.getName} is no number")
    }
    found
  }

  override def holdsNone(summary: Array[Byte], comparison: FilterPredicate): Boolean = comparison match {
    case same: Operators.Eq[_] =>
      same.getValue match {
        case number: Number => summary(digit(number)) == 0
        case _ => false
      }
    case _ => false
  }

  private def digit(number: Number) = Math.floorMod(number.longValue, base.toLong).toInt
}
