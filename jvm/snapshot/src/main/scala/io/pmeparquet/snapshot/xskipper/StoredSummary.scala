package io.pmeparquet.snapshot.xskipper

import java.nio.charset.CharacterCodingException
import java.nio.charset.StandardCharsets.UTF_8

import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.Utf8

/** What one index of a store says of one data file. */
private[pmeparquet] sealed trait StoredSummary

private[pmeparquet] object StoredSummary {

  /**
   * @param of the type of its values
   * @param summary a range, or a list of all values that are not null; stores do not count nulls
   */
  final case class Known(of: StoredType, summary: ColumnSummary) extends StoredSummary

  /** @param filter of Spark's sketches, in format version 1 */
  final case class Sketch(filter: Array[Byte]) extends StoredSummary

  /** A list with more values excludes files too seldom to be worth the time. */
  val MostValues = 10000

  /** In place of the number of nulls. */
  val UnknownNulls = -1L

  /**
   * The range between two bounds; none where they prove nothing.
   *
   * @param min encoded as statistics are; none if the store has null. Xskipper stores null for both bounds if all values
   *   are null, but also if there are only NaNs, or if a footer has no bounds
   */
  def range(of: StoredType, min: Option[Array[Byte]], max: Option[Array[Byte]]): Option[StoredSummary] =
    for {
      low <- min
      high <- max
      if isOfThisCalendar(of, low) && isOfThisCalendar(of, high)
      bounds <- of match {
        case StoredType.Text => inOrderOfBytes(low, high)
        case StoredType.Float => withoutNaN(low, high, 4)
        case StoredType.Double => withoutNaN(low, high, 8)
        case _ => Some(low -> high)
      }
    } yield Known(of, ColumnSummary.Range(Some(bounds), UnknownNulls))

  def list(of: StoredType, values: Seq[Array[Byte]]): Option[StoredSummary] =
    if (values.forall(value => isOfThisCalendar(of, value) && (of != StoredType.Text || isOneText(value))))
      Some(Known(of, ColumnSummary.ValueList(values.toList, UnknownNulls)))
    else None

  /** Whether bytes are text that stands for no other bytes. */
  private def isOneText(value: Array[Byte]) = text(value).exists(_.indexOf(Replacement.toInt) < 0)

  /**
   * Xskipper compares strings by UTF-16, with U+FFFD in the place of bytes that are no text, and queries compare their
   * bytes. The orders differ where a character beyond 16 bits meets one from U+E000 on, and where such bytes, which are
   * from 0x80 on, meet any character beyond ASCII. So bounds are cut off there.
   */
  private def inOrderOfBytes(min: Array[Byte], max: Array[Byte]): Option[(Array[Byte], Array[Byte])] =
    for {
      low <- text(min)
      high <- text(max)
      late = high.indexWhere(_ >= FirstAfterSurrogates)
      greatest <- if (late < 0) Some(max) else afterAll(high.take(late).getBytes(UTF_8))
    } yield low.takeWhile(_ < FirstAfterAscii).getBytes(UTF_8) -> greatest

  /** What is greater than all that begins with a text; none for no text. */
  private def afterAll(prefix: Array[Byte]): Option[Array[Byte]] =
    prefix.lastOption.map(last => prefix.init :+ (last + 1).toByte)

  /**
   * NaN is the greatest value: only NaN is above a lower bound of NaN, and all numbers are below an upper one.
   *
   * @param length of values in bytes
   */
  private def withoutNaN(min: Array[Byte], max: Array[Byte], length: Int) = {
    def number(value: Array[Byte]): Double = {
      val bytes = StoredType.little(value)
      if (length == 4) bytes.getFloat.toDouble else bytes.getDouble
    }
    def infinity =
      if (length == 4) StoredType.bytes(java.lang.Float.floatToRawIntBits(Float.PositiveInfinity))
      else StoredType.bytes(java.lang.Double.doubleToRawLongBits(Double.PositiveInfinity))
    if (number(min).isNaN) None else Some(min -> (if (number(max).isNaN) infinity else max))
  }

  /** None for bytes that are no text: Java has replaced what it could not read before it compared. */
  private[xskipper] def text(bytes: Array[Byte]): Option[String] =
    try Some(Utf8.strict(bytes))
    catch { case _: CharacterCodingException => None }

  /** Readers and writers may convert earlier dates and times between calendars. */
  private[xskipper] def isOfThisCalendar(of: StoredType, value: Array[Byte]): Boolean = of match {
    case StoredType.Date => StoredType.little(value).getInt() >= FirstDay
    case StoredType.Timestamp => StoredType.little(value).getLong() >= FirstMicros
    case _ => true
  }

  private val FirstAfterAscii = '\u0080'
  private val FirstAfterSurrogates = '\ue000'
  private val Replacement = '\ufffd'
  private val FirstDay = java.time.LocalDate.of(1582, 10, 15).toEpochDay.toInt
  private val FirstMicros = java.time.LocalDate.of(1900, 1, 2).toEpochDay * 86400L * 1000000L
}
