package io.pmeparquet.options

import java.nio.charset.StandardCharsets

import scala.util.Try

import io.pmeparquet.PmeErrors

/**
 * The place of a write in a series, as a job or a stream makes them: options `writeSeries` and `writeNumber`. The sealed
 * table that it writes states the last number of each series, so that a write which is repeated adds its rows once.
 */
final case class NumberedWrite(series: String, number: Long)

object NumberedWrite {

  /**
   * @param isOfDefinition whether the definition of a table or view sets the option
   * @return none if the write is in no series
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` for values that are not valid, or that are not this write's own:
   *   of the writes of a session or to a table, all but the first would do nothing
   */
  def of(values: OptionValues)(isOfDefinition: OptionSpec => Boolean): Option[NumberedWrite] = {
    def own(option: OptionSpec) = values.find(option).map { found =>
      if (found.level != Level.Option || isOfDefinition(option))
        throw PmeErrors.contradiction(
          option.name,
          "a session or a table sets it, so all of their writes but the first would do nothing",
          "Set it for the write alone."
        )
      found.value.trim
    }
    (own(PmeOptions.WriteSeries), own(PmeOptions.WriteNumber)) match {
      case (None, None) => None
      case (Some(series), Some(number)) => Some(NumberedWrite(checked(series), parsed(number)))
      case (Some(_), None) => throw missing(PmeOptions.WriteNumber, PmeOptions.WriteSeries)
      case (None, Some(_)) => throw missing(PmeOptions.WriteSeries, PmeOptions.WriteNumber)
    }
  }

  private def missing(option: OptionSpec, other: OptionSpec) =
    PmeErrors.missingOption(option.name, s"with ${other.name}")

  private def checked(series: String): String =
    if (series.nonEmpty && series.length <= MostCharacters && isPrintable(series)) series
    else {
      // A long text may be a secret in the wrong place.
      val shown = if (series.isEmpty) "" else s"${series.length} characters"
      throw PmeErrors.badOption(
        PmeOptions.WriteSeries.name,
        shown,
        s"1 to $MostCharacters printable characters"
      )
    }

  private def parsed(number: String): Long =
    Some(number).filter(_.matches("[0-9]{1,19}")).flatMap(digits => Try(digits.toLong).toOption).getOrElse {
      throw PmeErrors.badOption(
        PmeOptions.WriteNumber.name,
        number,
        s"a whole number from 0 to ${Long.MaxValue}"
      )
    }

  private val MostCharacters = 200

  /** Without control characters, which would spoil a log, and halves of characters, which JSON cannot hold. */
  private def isPrintable(series: String) =
    !series.exists(Character.isISOControl) && StandardCharsets.UTF_8.newEncoder.canEncode(series)
}
