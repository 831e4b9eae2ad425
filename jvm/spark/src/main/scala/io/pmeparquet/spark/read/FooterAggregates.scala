package io.pmeparquet.spark.read

import scala.collection.JavaConverters._

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.schema.{LogicalTypeAnnotation, PrimitiveType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation.{DateLogicalTypeAnnotation, IntLogicalTypeAnnotation}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.sql.catalyst.util.RebaseDateTime
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

import io.pmeparquet.parquet.file.SplitReader

/**
 * Answers aggregates from a file's footer, if that surely gives what the rows would. It looks for columns by their names:
 * a file may have them at other places than the table. ''Executor only.''
 */
private[read] final class FooterAggregates(
    asked: FileAggregates,
    caseSensitive: Boolean,
    file: SplitReader,
    start: Long,
    length: Long
) {
  import FileAggregate.{Counting, Extreme}

  private lazy val rowCount = file.rowCounts(start, length).sum

  /** The values of the functions; none: the rows must be read. */
  def values(partition: InternalRow): Option[Seq[Any]] = {
    val found = asked.functions.iterator.map(value(_, partition)).takeWhile(_.isDefined).flatten.toSeq
    if (found.size == asked.functions.size) Some(found) else None
  }

  // `Some(null)` is NULL.
  private def value(function: FileAggregate, partition: InternalRow): Option[Any] = function match {
    case Counting(None) => Some(rowCount)
    case Counting(Some(at)) if at >= asked.columns.size =>
      Some(if (partition.isNullAt(at - asked.columns.size)) 0L else rowCount)
    case Counting(Some(at)) => statistics(at).flatMap(counted)
    case extreme: Extreme if extreme.at < asked.columns.size =>
      statistics(extreme.at).flatMap(extremeOf(extreme, _, asked.columns(extreme.at).dataType))
    case _ => None
  }

  private def counted(groups: Column): Option[Long] =
    if (groups.statistics.forall(has(_)(_.isNumNullsSet)))
      Some(rowCount - groups.statistics.map(_.getNumNulls).sum)
    else None

  private def extremeOf(extreme: Extreme, column: Column, wanted: DataType): Option[Any] = {
    val ends = column.statistics.map { group =>
      if (!has(group)(_.hasNonNullValue)) None
      else
        for {
          low <- converted(group.genericGetMin, column.field, wanted)
          high <- converted(group.genericGetMax, column.field, wanted)
        } yield if (extreme.largest) high else low
    }
    if (ends.exists(_.isEmpty)) None else Some(ends.flatten.foldLeft[Any](null)(extreme.of))
  }

  private def has(group: Statistics[_])(known: Statistics[_] => Boolean) = group != null && known(group)

  private def statistics(at: Int): Option[Column] = {
    val name = asked.columns(at).name
    val fields = file.metadata.getSchema.getFields.asScala.filter { field =>
      if (caseSensitive) field.getName == name else field.getName.equalsIgnoreCase(name)
    }
    fields.toSeq match {
      case Seq(field) if field.isPrimitive && !field.isRepetition(Type.Repetition.REPEATED) =>
        Some(Column(field.asPrimitiveType, file.statistics(start, length, field.getName)))
      case _ => None
    }
  }

  /** A value of a footer as the rows have it; none, if the rows may have it in another form. */
  private def converted(value: Any, field: PrimitiveType, wanted: DataType): Option[Any] = {
    val isInt = field.getLogicalTypeAnnotation match {
      case null => true
      case int: IntLogicalTypeAnnotation => int.isSigned
      case _: LogicalTypeAnnotation => false
    }
    (value, field.getPrimitiveTypeName, wanted) match {
      case (bool: java.lang.Boolean, PrimitiveTypeName.BOOLEAN, BooleanType) => Some(bool)
      case (int: Integer, PrimitiveTypeName.INT32, IntegerType) if isInt => Some(int)
      case (int: Integer, PrimitiveTypeName.INT32, ShortType) if isInt && int.toInt == int.toShort =>
        Some(Short.box(int.toShort))
      case (int: Integer, PrimitiveTypeName.INT32, ByteType) if isInt && int.toInt == int.toByte =>
        Some(Byte.box(int.toByte))
      case (long: java.lang.Long, PrimitiveTypeName.INT64, LongType) if isInt => Some(long)
      // Earlier days may be of another calendar.
      case (day: Integer, PrimitiveTypeName.INT32, DateType)
          if field.getLogicalTypeAnnotation.isInstanceOf[DateLogicalTypeAnnotation] &&
            day >= RebaseDateTime.lastSwitchJulianDay =>
        Some(day)
      case _ => None
    }
  }

  private case class Column(field: PrimitiveType, statistics: Seq[Statistics[_]])
}
