package io.pmeparquet.snapshot.xskipper

import java.math.BigInteger
import java.nio.{ByteBuffer, ByteOrder}

import org.apache.parquet.column.ColumnReader
import org.apache.parquet.schema.LogicalTypeAnnotation.{DecimalLogicalTypeAnnotation, TimeUnit}
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

/** Reads the values of a store's column in the encoding of statistics, whatever type the store's writer gave it. */
private[xskipper] object StoredValues {
  private type Read = ColumnReader => Option[Array[Byte]]

  /**
   * What reads a value, or none for one that does not fit its type.
   *
   * @return none if a column of this type in Parquet does not hold such values
   */
  def reader(of: StoredType, in: PrimitiveType): Option[Read] = (of, in.getPrimitiveTypeName) match {
    case (whole: StoredType.Whole, INT32) if whole.bits <= 32 => Some(int)
    case (StoredType.Long, INT64) => Some(long)
    case (StoredType.Date, INT32) => Some(int)
    case (StoredType.Timestamp, INT96) => Some(column => Some(StoredType.bytes(micros96(column))))
    case (StoredType.Timestamp, INT64) => unitOf(in).map(instant)
    case (StoredType.Float, FLOAT) =>
      Some(column => Some(StoredType.bytes(java.lang.Float.floatToRawIntBits(column.getFloat))))
    case (StoredType.Double, DOUBLE) =>
      Some(column => Some(StoredType.bytes(java.lang.Double.doubleToRawLongBits(column.getDouble))))
    case (StoredType.Boolean, BOOLEAN) =>
      Some(column => Some(Array[Byte](if (column.getBoolean) 1 else 0)))
    case (StoredType.Text, BINARY) => Some(column => Some(column.getBinary.getBytes))
    case (decimal: StoredType.Decimal, _) if scaleOf(in).contains(decimal.scale) =>
      unscaled(in).map(read => column => decimalBytes(read(column), decimal))
    case _ => None
  }

  private val int: Read = column => Some(StoredType.bytes(column.getInteger))
  private val long: Read = column => Some(StoredType.bytes(column.getLong))

  private def instant(unit: TimeUnit): Read = unit match {
    case TimeUnit.MICROS => long
    case TimeUnit.MILLIS => column => Some(StoredType.bytes(Math.multiplyExact(column.getLong, 1000L)))
    case TimeUnit.NANOS => _ => None
  }

  private def unitOf(in: PrimitiveType) = in.getLogicalTypeAnnotation match {
    case timestamp: TimestampLogicalTypeAnnotation if timestamp.isAdjustedToUTC => Some(timestamp.getUnit)
    case _ => None
  }

  /** Nanoseconds of a day, then the Julian day. */
  private def micros96(column: ColumnReader): Long = {
    val bytes = ByteBuffer.wrap(column.getBinary.getBytes).order(ByteOrder.LITTLE_ENDIAN)
    val nanos = bytes.getLong()
    Math.addExact(
      Math.multiplyExact(bytes.getInt().toLong - JulianDayOf1970, MicrosOfDay),
      Math.floorDiv(nanos, 1000L)
    )
  }

  private def scaleOf(in: PrimitiveType) = in.getLogicalTypeAnnotation match {
    case decimal: DecimalLogicalTypeAnnotation => Some(decimal.getScale)
    case _ => None
  }

  private def unscaled(in: PrimitiveType): Option[ColumnReader => BigInteger] =
    in.getPrimitiveTypeName match {
      case INT32 => Some(column => BigInteger.valueOf(column.getInteger.toLong))
      case INT64 => Some(column => BigInteger.valueOf(column.getLong))
      case BINARY | FIXED_LEN_BYTE_ARRAY => Some(column => new BigInteger(column.getBinary.getBytes))
      case _ => None
    }

  private def decimalBytes(unscaled: BigInteger, of: StoredType.Decimal) =
    if (unscaled.abs.compareTo(BigInteger.TEN.pow(of.precision)) >= 0) None
    else Some(StoredType.bytes(unscaled, of))

  private val JulianDayOf1970 = 2440588L
  private val MicrosOfDay = 86400L * 1000000L
}
