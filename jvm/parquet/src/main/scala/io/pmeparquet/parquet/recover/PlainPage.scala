package io.pmeparquet.parquet.recover

import org.apache.parquet.bytes.{BytesInput, BytesUtils, HeapByteBufferAllocator}
import org.apache.parquet.column.{ColumnDescriptor, ColumnReader, Encoding}
import org.apache.parquet.column.page.{DataPage, DataPageV1}
import org.apache.parquet.column.values.plain.{
  BooleanPlainValuesWriter,
  FixedLenByteArrayPlainValuesWriter,
  PlainValuesWriter
}
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridValuesWriter
import org.apache.parquet.column.values.ValuesWriter
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

/** A V1 data page with plain values, made value by value. For one thread. */
private[recover] final class PlainPage(descriptor: ColumnDescriptor) {
  import PlainPage._
  private val kind = descriptor.getPrimitiveType
  private val most = descriptor.getMaxDefinitionLevel
  private val repetition = levels(descriptor.getMaxRepetitionLevel)
  private val definition = levels(most)
  private val values: ValuesWriter = kind.getPrimitiveTypeName match {
    case PrimitiveTypeName.BOOLEAN => new BooleanPlainValuesWriter
    case PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY => fixed(kind.getTypeLength)
    case PrimitiveTypeName.INT96 => fixed(Int96Bytes)
    case _ => new PlainValuesWriter(InitialBytes, MostBytes, allocator)
  }
  private var count = 0

  def isEmpty: Boolean = count == 0

  /** How many bytes its values take. */
  def size: Long = values.getBufferedSize

  /** The current value of a reader, or its levels. */
  def add(reader: ColumnReader): Unit = {
    val level = reader.getCurrentDefinitionLevel
    addLevels(reader.getCurrentRepetitionLevel, level)
    if (level == most)
      kind.getPrimitiveTypeName match {
        case PrimitiveTypeName.INT32 => values.writeInteger(reader.getInteger)
        case PrimitiveTypeName.INT64 => values.writeLong(reader.getLong)
        case PrimitiveTypeName.FLOAT => values.writeFloat(reader.getFloat)
        case PrimitiveTypeName.DOUBLE => values.writeDouble(reader.getDouble)
        case PrimitiveTypeName.BOOLEAN => values.writeBoolean(reader.getBoolean)
        case _ => values.writeBytes(reader.getBinary)
      }
  }

  /** A row without a value, or in a column that must have one, with any: its cell is lost. */
  def addLost(): Unit = {
    addLevels(0, 0)
    if (most == 0)
      kind.getPrimitiveTypeName match {
        case PrimitiveTypeName.INT32 => values.writeInteger(0)
        case PrimitiveTypeName.INT64 => values.writeLong(0)
        case PrimitiveTypeName.FLOAT => values.writeFloat(0)
        case PrimitiveTypeName.DOUBLE => values.writeDouble(0)
        case PrimitiveTypeName.BOOLEAN => values.writeBoolean(false)
        // Not empty: a decimal has a byte at least.
        case PrimitiveTypeName.BINARY => values.writeBytes(zeros(1))
        case PrimitiveTypeName.INT96 => values.writeBytes(zeros(Int96Bytes))
        case PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY => values.writeBytes(zeros(kind.getTypeLength))
      }
  }

  private def addLevels(repeated: Int, defined: Int): Unit = {
    count += 1
    repetition.foreach(_.writeInteger(repeated))
    definition.foreach(_.writeInteger(defined))
  }

  def result(): DataPage = {
    val bytes = BytesInput.copy(
      BytesInput.concat((repetition.toSeq ++ definition :+ values).map(_.getBytes): _*)
    )
    new DataPageV1(bytes, count, bytes.size.toInt, null, Encoding.RLE, Encoding.RLE, Encoding.PLAIN)
  }
}

private object PlainPage {
  private val allocator = HeapByteBufferAllocator.getInstance
  private val Int96Bytes = 12
  private val InitialBytes = 1024
  private val MostBytes = 1 << 20

  private def fixed(length: Int) =
    new FixedLenByteArrayPlainValuesWriter(length, InitialBytes, MostBytes, allocator)

  private def zeros(length: Int) = Binary.fromConstantByteArray(new Array[Byte](length))

  /** None if all are 0: then a page has none. */
  private def levels(most: Int): Option[ValuesWriter] =
    if (most == 0) None
    else {
      val width = BytesUtils.getWidthFromMaxInt(most)
      Some(new RunLengthBitPackingHybridValuesWriter(width, InitialBytes, MostBytes, allocator))
    }
}
