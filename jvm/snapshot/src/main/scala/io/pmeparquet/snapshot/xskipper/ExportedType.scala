package io.pmeparquet.snapshot.xskipper

import java.math.BigInteger

import scala.util.Try

import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import io.pmeparquet.parquet.summary.{ColumnSummary, ColumnTypeText}

/**
 * How the index of a snapshot becomes one of a store.
 *
 * @param of the type of its values in the store
 */
private[pmeparquet] final class ExportedType private (
    val of: StoredType,
    convert: Array[Byte] => Option[Array[Byte]]
) {

  /**
   * The summary as a store has it; none if no store can say it: Xskipper takes what is missing for a proof that no row
   * matches, so the file must then be left out of the store.
   *
   * @param rows of the file
   */
  def exported(summary: ColumnSummary, rows: Long): Option[ColumnSummary] = summary match {
    case ColumnSummary.Range(None, nulls) => if (nulls == rows) Some(summary) else None
    case ColumnSummary.Range(Some((min, max)), nulls) =>
      for (low <- valid(min); high <- valid(max))
        yield ColumnSummary.Range(Some(low -> greatest(high)), nulls)
    case ColumnSummary.ValueList(values, nulls) =>
      val converted = values.map(valid)
      if (converted.exists(_.isEmpty)) None else Some(ColumnSummary.ValueList(converted.flatten, nulls))
    case sketch: ColumnSummary.OfClass => Some(sketch).filter(_ => hasSketches)
    case _ => None
  }

  /** Whether Xskipper makes Bloom filters of this type. */
  def hasSketches: Boolean = of match {
    case StoredType.Text | _: StoredType.Whole => true
    case _ => false
  }

  private def valid(value: Array[Byte]): Option[Array[Byte]] =
    convert(value).filter { one =>
      StoredSummary.isOfThisCalendar(of, one) && (of != StoredType.Text || StoredSummary.text(one).isDefined)
    }

  /** Bounds from footers may leave out NaN, which is the greatest value. */
  private def greatest(max: Array[Byte]): Array[Byte] = of match {
    case StoredType.Float => StoredType.bytes(java.lang.Float.floatToRawIntBits(Float.NaN))
    case StoredType.Double => StoredType.bytes(java.lang.Double.doubleToRawLongBits(Double.NaN))
    case _ => max
  }
}

private[pmeparquet] object ExportedType {

  /**
   * @param columnType of the data column in Parquet, as text
   * @param name of that column in the text
   * @return none for a type that stores do not have
   */
  def of(columnType: String, name: String): Option[ExportedType] =
    ColumnTypeText.parsed(columnType, name).flatMap(of)

  private def of(leaf: PrimitiveType): Option[ExportedType] =
    (leaf.getPrimitiveTypeName, leaf.getLogicalTypeAnnotation) match {
      case (INT32, null) => same(StoredType.Int)
      case (INT32, int: IntLogicalTypeAnnotation) if int.isSigned =>
        same(int.getBitWidth match {
          case 8 => StoredType.Byte
          case 16 => StoredType.Short
          case _ => StoredType.Int
        })
      case (INT32, _: DateLogicalTypeAnnotation) => same(StoredType.Date)
      case (INT64, null) => same(StoredType.Long)
      case (INT64, int: IntLogicalTypeAnnotation) if int.isSigned => same(StoredType.Long)
      case (INT64, time: TimestampLogicalTypeAnnotation) if time.isAdjustedToUTC => timestamp(time.getUnit)
      case (FLOAT, null) => same(StoredType.Float)
      case (DOUBLE, null) => same(StoredType.Double)
      case (BOOLEAN, null) => same(StoredType.Boolean)
      case (BINARY, _: StringLogicalTypeAnnotation) => same(StoredType.Text)
      case (_, decimal: DecimalLogicalTypeAnnotation) => decimalOf(leaf, decimal)
      case _ => None
    }

  private def same(of: StoredType): Option[ExportedType] = Some(new ExportedType(of, Some(_)))

  private def timestamp(unit: TimeUnit): Option[ExportedType] = unit match {
    case TimeUnit.MICROS => same(StoredType.Timestamp)
    case TimeUnit.MILLIS =>
      Some(
        new ExportedType(
          StoredType.Timestamp,
          value => Try(StoredType.bytes(Math.multiplyExact(StoredType.little(value).getLong, 1000L))).toOption
        )
      )
    case TimeUnit.NANOS => None
  }

  private def decimalOf(leaf: PrimitiveType, decimal: DecimalLogicalTypeAnnotation): Option[ExportedType] =
    StoredType.of(s"decimal(${decimal.getPrecision},${decimal.getScale})").collect {
      case of: StoredType.Decimal =>
        def unscaled(value: Array[Byte]) = leaf.getPrimitiveTypeName match {
          case INT32 => BigInteger.valueOf(StoredType.little(value).getInt.toLong)
          case INT64 => BigInteger.valueOf(StoredType.little(value).getLong)
          case _ => new BigInteger(value)
        }
        new ExportedType(
          of,
          value =>
            Try(unscaled(value)).toOption.filter(_.bitLength < 8 * 17).flatMap { found =>
              if (found.abs.compareTo(BigInteger.TEN.pow(of.precision)) >= 0) None
              else Some(StoredType.bytes(found, of))
            }
        )
    }
}
