package io.pmeparquet.spark.snapshots

import java.sql.Timestamp
import java.time.{Instant, LocalDateTime, ZoneOffset}
import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.parquet.schema.{LogicalTypeAnnotation, MessageType, PrimitiveType, Type, Types}
import org.apache.parquet.schema.LogicalTypeAnnotation.{TimeUnit, TimestampLogicalTypeAnnotation}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT64
import org.apache.spark.sql.sources._

/**
 * Filters on timestamps in the form in which Spark makes predicates of them. Spark makes none for timestamps without a
 * zone; here they are compared as timestamps in UTC, whose order is the same. It cuts values to the milliseconds of a
 * column in milliseconds, which changes comparisons, so that such filters are left out. ''Driver only.''
 *
 * @param known the columns that predicates may name
 */
private[snapshots] final class TimeFilters(known: MessageType, caseSensitive: Boolean) {
  import TimeFilters._

  /** The columns, with timestamps without a zone as timestamps in UTC. */
  val columns: MessageType =
    new MessageType(known.getName, known.getFields.asScala.map(inUtc).asJava)

  private val times: Map[Seq[String], TimestampLogicalTypeAnnotation] = known.getColumns.asScala.flatMap {
    column =>
      timeOf(column.getPrimitiveType).map(named(column.getPath.toSeq) -> _)
  }.toMap

  /** The same filter; none if it cannot be had. */
  def of(filter: Filter): Option[Filter] = filter match {
    case And(left, right) => for (one <- of(left); other <- of(right)) yield And(one, other)
    case Or(left, right) => for (one <- of(left); other <- of(right)) yield Or(one, other)
    case Not(child) => of(child).map(Not(_))
    case EqualTo(name, value) => valueOf(filter, value).map(EqualTo(name, _))
    case EqualNullSafe(name, value) => valueOf(filter, value).map(EqualNullSafe(name, _))
    case LessThan(name, value) => valueOf(filter, value).map(LessThan(name, _))
    case LessThanOrEqual(name, value) => valueOf(filter, value).map(LessThanOrEqual(name, _))
    case GreaterThan(name, value) => valueOf(filter, value).map(GreaterThan(name, _))
    case GreaterThanOrEqual(name, value) => valueOf(filter, value).map(GreaterThanOrEqual(name, _))
    case In(name, values) =>
      val found = values.flatMap(valueOf(filter, _))
      if (found.length == values.length) Some(In(name, found)) else None
    case other => Some(other)
  }

  private def valueOf(filter: Filter, value: Any): Option[Any] =
    times.get(named(filter.v2references.head.toSeq)) match {
      case None => Some(value)
      case Some(_) if value == null => Some(value)
      case Some(time) =>
        val isWhole = time.getUnit == TimeUnit.MICROS || nanos(value).exists(_ % 1000000 == 0)
        value match {
          case _: Timestamp | _: Instant if time.isAdjustedToUTC && isWhole => Some(value)
          case wall: LocalDateTime if !time.isAdjustedToUTC && isWhole =>
            Some(wall.toInstant(ZoneOffset.UTC))
          case _ => None
        }
    }

  private def named(path: Seq[String]) = if (caseSensitive) path else path.map(_.toLowerCase(Locale.ROOT))
}

private object TimeFilters {
  private def timeOf(leaf: PrimitiveType): Option[TimestampLogicalTypeAnnotation] =
    (leaf.getPrimitiveTypeName, leaf.getLogicalTypeAnnotation) match {
      case (INT64, time: TimestampLogicalTypeAnnotation) => Some(time)
      case _ => None
    }

  private def nanos(value: Any): Option[Int] = value match {
    case timestamp: Timestamp => Some(timestamp.getNanos)
    case instant: Instant => Some(instant.getNano)
    case wall: LocalDateTime => Some(wall.getNano)
    case _ => None
  }

  private def inUtc(field: Type): Type =
    if (field.isPrimitive) leafInUtc(field.asPrimitiveType)
    else field.asGroupType.withNewFields(field.asGroupType.getFields.asScala.map(inUtc).asJava)

  private def leafInUtc(leaf: PrimitiveType): Type =
    timeOf(leaf).filterNot(_.isAdjustedToUTC).fold[Type](leaf) { time =>
      Types
        .primitive(INT64, leaf.getRepetition)
        .as(LogicalTypeAnnotation.timestampType(true, time.getUnit))
        .named(leaf.getName)
    }
}
