package io.pmeparquet.snapshot.xskipper

import java.math.BigInteger
import java.nio.{ByteBuffer, ByteOrder}

import org.apache.parquet.schema.{LogicalTypeAnnotation, PrimitiveType, Type, Types}
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

/**
 * A type of values that summaries are made of: those whose order and equality are the same in Xskipper and in a query.
 * ''Crosses the wire.''
 *
 * @param spark Spark's name of the type, in the JSON of schemas
 */
private[pmeparquet] sealed abstract class StoredType(val spark: String) extends Serializable {
  import StoredType._

  /** The column that summaries of this type are of, whatever type the data files have. */
  def leaf(name: String): PrimitiveType = {
    val of = this match {
      case whole: Whole if whole.bits < 32 => int32.as(LogicalTypeAnnotation.intType(whole.bits, true))
      case Byte | Short | Int => int32
      case Long => int64
      case Float => optional(PrimitiveTypeName.FLOAT)
      case Double => optional(PrimitiveTypeName.DOUBLE)
      case Boolean => optional(PrimitiveTypeName.BOOLEAN)
      case Text => optional(PrimitiveTypeName.BINARY).as(LogicalTypeAnnotation.stringType())
      case Date => int32.as(LogicalTypeAnnotation.dateType())
      case Timestamp => int64.as(LogicalTypeAnnotation.timestampType(true, TimeUnit.MICROS))
      case decimal: Decimal =>
        val stored =
          if (decimal.precision <= 9) int32
          else if (decimal.precision <= 18) int64
          else optional(PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY).length(decimal.bytes)
        stored.as(LogicalTypeAnnotation.decimalType(decimal.scale, decimal.precision))
    }
    of.named(name)
  }
}

private[pmeparquet] object StoredType {
  sealed abstract class Whole(spark: String, val bits: Int) extends StoredType(spark)
  case object Byte extends Whole("byte", 8)
  case object Short extends Whole("short", 16)
  case object Int extends Whole("integer", 32)
  case object Long extends Whole("long", 64)
  case object Float extends StoredType("float")
  case object Double extends StoredType("double")
  case object Boolean extends StoredType("boolean")

  /** Spark's strings in binary order. A collation has another name. */
  case object Text extends StoredType("string")

  /** Days since 1970. */
  case object Date extends StoredType("date")

  /** Microseconds since 1970. */
  case object Timestamp extends StoredType("timestamp")

  final case class Decimal(precision: Int, scale: Int) extends StoredType(s"decimal($precision,$scale)") {

    /** The length of values that do not fit into 64 bits. */
    def bytes: Int = (BigInteger.TEN.pow(precision).subtract(BigInteger.ONE).bitLength + 8) / 8
  }

  private def optional(of: PrimitiveTypeName) = Types.primitive(of, Type.Repetition.OPTIONAL)
  private def int32 = optional(PrimitiveTypeName.INT32)
  private def int64 = optional(PrimitiveTypeName.INT64)

  private val simple: Map[String, StoredType] =
    Seq(Byte, Short, Int, Long, Float, Double, Boolean, Text, Date, Timestamp)
      .map(one => one.spark -> one)
      .toMap
  private val DecimalName = "decimal\\(([0-9]{1,2}),([0-9]{1,2})\\)".r

  /** None for a type that summaries say nothing of. */
  def of(spark: String): Option[StoredType] = spark match {
    case DecimalName(precision, scale)
        if precision.toInt >= 1 && precision.toInt <= 38 && scale.toInt <= precision.toInt =>
      Some(Decimal(precision.toInt, scale.toInt))
    case name => simple.get(name)
  }

  /** Values as `Statistics` hold them: plain, little-endian. */
  def little(value: Array[scala.Byte]): ByteBuffer = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN)
  def bytes(value: scala.Int): Array[scala.Byte] =
    ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(value).array
  def bytes(value: scala.Long): Array[scala.Byte] =
    ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array

  /** @param unscaled that fits into the precision */
  def bytes(unscaled: BigInteger, of: Decimal): Array[scala.Byte] =
    if (of.precision <= 9) bytes(unscaled.intValueExact)
    else if (of.precision <= 18) bytes(unscaled.longValueExact)
    else {
      val short = unscaled.toByteArray
      val sign: scala.Byte = if (unscaled.signum < 0) -1 else 0
      Array.fill(of.bytes - short.length)(sign) ++ short
    }
}
