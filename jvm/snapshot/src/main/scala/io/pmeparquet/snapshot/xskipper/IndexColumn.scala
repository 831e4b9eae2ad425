package io.pmeparquet.snapshot.xskipper

import java.io.IOException
import java.math.BigInteger

import scala.collection.mutable

import org.apache.parquet.column.{ColumnDescriptor, ColumnReader}
import org.apache.parquet.column.impl.ColumnReadStoreImpl
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.schema.{GroupType, MessageType, PrimitiveType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DecimalLogicalTypeAnnotation,
  TimeUnit,
  TimestampLogicalTypeAnnotation
}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.parquet.summary.UnusedValues

/**
 * How the column of an index is read from a file.
 *
 * @param leaves the paths of its leaf columns, and what reads their values
 * @param summary makes a summary of a row of each leaf; none where that proves nothing
 */
private[xskipper] final class IndexColumn(
    val index: StoreIndex,
    val leaves: Seq[(Seq[String], ColumnReader => Option[Array[Byte]])],
    val summary: Seq[LeafRows.Row[Option[Array[Byte]]]] => Option[StoredSummary]
)

private[xskipper] object IndexColumn {

  /** @throws io.pmeparquet.PmeException if the column has not the type that its index states */
  def of(index: StoreIndex, schema: MessageType, where: String): IndexColumn = {
    def unusable(why: String): PmeException =
      PmeErrors.xskipperUnusable(where, s"column '${index.field}' $why")
    if (!schema.containsField(index.field)) throw unusable("is missing")
    val column = schema.getType(Array(index.field): _*)
    def otherType = unusable("has not the type that its index states")
    def reader(of: StoredType, leaf: Type) =
      if (!leaf.isPrimitive) throw otherType
      else StoredValues.reader(of, leaf.asPrimitiveType).getOrElse(throw otherType)
    index.content match {
      case StoreContent.Unknown(why) => throw unusable(s"is not used: $why")
      case StoreContent.MinMax(of) =>
        val bounds = group(column).filter(_.getFieldCount == 2).getOrElse(throw otherType)
        if (!isSingle(bounds) || !Seq("min", "max").forall(bounds.containsField)) throw otherType
        val leaves = Seq("min", "max").map { name =>
          if (!isSingle(bounds.getType(name))) throw otherType
          Seq(index.field, name) -> reader(of, bounds.getType(name))
        }
        new IndexColumn(
          index,
          leaves,
          rows =>
            StoredSummary.range(of, rows.head.values.headOption.flatten, rows(1).values.headOption.flatten)
        )
      case StoreContent.ValueList(of) =>
        val (path, levelOfList, element) = listOf(column).getOrElse(throw otherType)
        new IndexColumn(
          index,
          Seq((index.field +: path) -> reader(of, element)),
          rows => list(of, rows.head, levelOfList)
        )
      case StoreContent.Serialized(kind) =>
        val isBinary = column.isPrimitive && isSingle(column) &&
          column.asPrimitiveType.getPrimitiveTypeName == BINARY
        if (!isBinary) throw otherType
        new IndexColumn(
          index,
          Seq(Seq(index.field) -> (column => Some(column.getBinary.getBytes))),
          _.head.values.headOption.flatten.flatMap(SerializedSummary.of(kind, _))
        )
    }
  }

  /** An empty list says that all values are null; no list says nothing. Xskipper puts no null into a list. */
  private def list(of: StoredType, row: LeafRows.Row[Option[Array[Byte]]], level: Int) =
    if (row.level < level || !row.isWhole || row.values.exists(_.isEmpty)) None
    else StoredSummary.list(of, row.values.flatten)

  /** The path below a list's column, the definition level at which there is a list, and the type of its elements. */
  private def listOf(column: Type): Option[(Seq[String], Int, PrimitiveType)] = for {
    list <- group(column)
    if isSingle(list) && list.getFieldCount == 1
    entries <- group(list.getType(0))
    if entries.isRepetition(Type.Repetition.REPEATED) && entries.getFieldCount == 1
    element = entries.getType(0)
    if element.isPrimitive && isSingle(element)
  } yield {
    val level = if (list.isRepetition(Type.Repetition.OPTIONAL)) 1 else 0
    (Seq(entries.getName, element.getName), level, element.asPrimitiveType)
  }

  private def group(of: Type): Option[GroupType] = if (of.isPrimitive) None else Some(of.asGroupType)
  private def isSingle(of: Type) = !of.isRepetition(Type.Repetition.REPEATED)
}

/**
 * One leaf column of a row group, row by row, so that a store needs no more memory than its widest row.
 *
 * @param read reads the value at which a reader is
 */
private[xskipper] final class LeafRows[A](
    pages: PageReadStore,
    schema: MessageType,
    leaf: ColumnDescriptor,
    createdBy: String
)(read: ColumnReader => A) {
  private val column =
    new ColumnReadStoreImpl(pages, UnusedValues, schema, createdBy).getColumnReader(leaf)
  private var left = pages.getPageReader(leaf).getTotalValueCount

  /** @throws IOException if there is no further row */
  def next(): LeafRows.Row[A] = {
    if (left == 0) throw new IOException("a column has fewer rows than its row group")
    val values = mutable.ArrayBuffer.empty[A]
    var highest = 0
    var count = 0
    do {
      val level = column.getCurrentDefinitionLevel
      highest = highest.max(level)
      if (level == leaf.getMaxDefinitionLevel) {
        if (count < StoredSummary.MostValues) values += read(column)
        count += 1
      }
      column.consume()
      left -= 1
    } while (left > 0 && column.getCurrentRepetitionLevel > 0)
    LeafRows.Row(values.toVector, highest, count <= StoredSummary.MostValues)
  }
}

private[xskipper] object LeafRows {

  /**
   * @param level the highest definition level
   * @param isWhole whether these are all values
   */
  final case class Row[A](values: Vector[A], level: Int, isWhole: Boolean)
}

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
    val bytes = StoredType.little(column.getBinary.getBytes)
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
