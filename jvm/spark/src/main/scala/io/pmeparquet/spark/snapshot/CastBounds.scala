package io.pmeparquet.spark.snapshot

import java.time.{Instant, LocalDate, LocalDateTime, ZoneId, ZoneOffset}

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types.{DataType, DateType, TimestampNTZType, TimestampType}

/**
 * Comparisons of dates and timestamps that are cast to one another, which Spark cannot push down. Local time is an instant
 * plus an offset of its zone. Such a cast does not keep order where clocks go back, but offsets have a least and a greatest
 * value, so a comparison of the cast value still bounds the value. ''Driver only.''
 *
 * @param value the date or timestamp that is cast
 * @param least that passes the comparison, as a value of a filter; none if there is no bound
 * @param greatest that passes the comparison
 */
private[snapshot] final case class CastBounds(value: Expression, least: Option[Any], greatest: Option[Any])

private[snapshot] object CastBounds {

  /** The bounds of a comparison that some cast of dates or timestamps is in; none if they are not known. */
  def of(filter: Expression): Option[CastBounds] = filter match {
    case BinaryComparison(cast: Cast, literal: Literal) =>
      sideOf(filter).flatMap(bounded(cast, Seq(literal), _))
    case BinaryComparison(literal: Literal, cast: Cast) =>
      sideOf(filter).flatMap(side => bounded(cast, Seq(literal), side.mirrored))
    case In(cast: Cast, values) if values.nonEmpty && values.forall(_.isInstanceOf[Literal]) =>
      // Null equals nothing.
      bounded(cast, values.map(_.asInstanceOf[Literal]).filter(_.value != null), Between)
    case InSet(cast: Cast, values) =>
      bounded(cast, values.toSeq.filter(_ != null).map(Literal(_, cast.dataType)), Between)
    case _ => None
  }

  /** Which values a comparison with others lets through. */
  private sealed abstract class Side {
    def mirrored: Side = this match {
      case Between => Between
      case Below => Above
      case Above => Below
    }
  }
  private case object Between extends Side
  private case object Below extends Side
  private case object Above extends Side

  /** The values on the left of a comparison. */
  private def sideOf(comparison: Expression): Option[Side] = comparison match {
    case _: EqualTo | _: EqualNullSafe => Some(Between)
    case _: LessThan | _: LessThanOrEqual => Some(Below)
    case _: GreaterThan | _: GreaterThanOrEqual => Some(Above)
    case _ => None
  }

  private def bounded(cast: Cast, literals: Seq[Literal], side: Side): Option[CastBounds] = {
    val isNull = literals.isEmpty || literals.exists(_.value == null)
    if (isNull || !isKnown(cast) || literals.exists(_.dataType != cast.dataType)) None
    else
      try {
        val ranges = literals.map(rangeOf)
        val (low, high) = shift(cast)
        val least = if (side == Below) None else Some(Math.addExact(ranges.map(_._1).min, low))
        val greatest = if (side == Above) None else Some(Math.addExact(ranges.map(_._2).max, high))
        val from = cast.child.dataType
        Some(CastBounds(cast.child, least.map(asValue(_, from)), greatest.map(asValue(_, from))))
      } catch {
        // A sum that overflows is no bound.
        case _: ArithmeticException => None
      }
  }

  private def isKnown(cast: Cast) = (cast.child.dataType, cast.dataType) match {
    case (TimestampType | TimestampNTZType, DateType) => true
    case (DateType, TimestampType | TimestampNTZType) => true
    case (TimestampNTZType, TimestampType) | (TimestampType, TimestampNTZType) => true
    case _ => false
  }

  /** The least and the greatest number of microseconds that a cast value equal to the literal may stand for. */
  private def rangeOf(literal: Literal): (Long, Long) = literal.value match {
    case day: Int =>
      val start = Math.multiplyExact(day.toLong, MicrosOfDay)
      (start, Math.addExact(start, MicrosOfDay - 1))
    case micros: Long => (micros, micros)
    case other => throw new IllegalStateException(s"internal error: $other is no date or timestamp")
  }

  /** What the value may be less, and more, than the cast value. */
  private def shift(cast: Cast): (Long, Long) = {
    val fromInstant = cast.child.dataType == TimestampType
    val toInstant = cast.dataType == TimestampType
    if (fromInstant == toInstant) (0L, 0L)
    else {
      val offsets = offsetsOf(DateTimeUtils.getZoneId(cast.timeZoneId.get)).map(_.getTotalSeconds * 1000000L)
      if (fromInstant) (-offsets.max, -offsets.min) else (offsets.min, offsets.max)
    }
  }

  /** All offsets that clocks of a zone have had, have and will have. */
  private def offsetsOf(zone: ZoneId): Seq[ZoneOffset] = {
    val rules = zone.getRules
    val changes = rules.getTransitions.asScala.toSeq
    val yearly = rules.getTransitionRules.asScala.toSeq
    rules.getOffset(Instant.EPOCH) +:
      (changes.flatMap(one => Seq(one.getOffsetBefore, one.getOffsetAfter)) ++
        yearly.flatMap(one => Seq(one.getOffsetBefore, one.getOffsetAfter)))
  }

  /** As Spark's filters have values. */
  private def asValue(micros: Long, of: DataType): Any = of match {
    case DateType => LocalDate.ofEpochDay(Math.floorDiv(micros, MicrosOfDay))
    case TimestampType => DateTimeUtils.microsToInstant(micros)
    case _ => LocalDateTime.ofInstant(DateTimeUtils.microsToInstant(micros), ZoneOffset.UTC)
  }

  private val MicrosOfDay = 86400000000L
}
