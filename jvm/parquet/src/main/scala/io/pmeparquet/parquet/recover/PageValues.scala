package io.pmeparquet.parquet.recover

import org.apache.parquet.VersionParser
import org.apache.parquet.column.{ColumnDescriptor, ColumnReader, ColumnWriter}
import org.apache.parquet.column.impl.ColumnReaderImpl
import org.apache.parquet.column.page.{DataPage, DictionaryPage, PageReader}
import org.apache.parquet.io.api.{Binary, PrimitiveConverter}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.parquet.VersionParser.ParsedVersion

/**
 * The values of one data page with their levels, one after the other. For one thread.
 *
 * @param writer the program that wrote the file; parquet-java decodes pages of some differently
 */
private[recover] final class PageValues(
    descriptor: ColumnDescriptor,
    page: DataPage,
    dictionary: DictionaryPage,
    writer: ParsedVersion
) {
  private val reader = new ColumnReaderImpl(descriptor, new OnePage, PageValues.Nowhere, writer)
  private val most = descriptor.getMaxDefinitionLevel

  /** Decodes each value, and calls `each` when it is the reader's current one. */
  def foreach(each: ColumnReader => Unit): Unit =
    (0 until page.getValueCount).foreach { _ =>
      if (reader.getCurrentDefinitionLevel == most) reader.writeCurrentValueToConverter()
      each(reader)
      reader.consume()
    }

  private final class OnePage extends PageReader {
    private var isRead = false
    override def readDictionaryPage(): DictionaryPage = dictionary
    override def getTotalValueCount: Long = page.getValueCount.toLong
    override def readPage(): DataPage = if (isRead) null
    else {
      isRead = true
      page
    }
  }
}

private[recover] object PageValues {

  /** @param createdBy as the footer has it */
  def writerOf(createdBy: String): ParsedVersion =
    try VersionParser.parse(createdBy)
    catch { case _: VersionParser.VersionParseException | _: RuntimeException => null }

  /** Writes the current value of a reader, or its levels. */
  def copy(reader: ColumnReader, writer: ColumnWriter): Unit = {
    val (repetition, definition) = (reader.getCurrentRepetitionLevel, reader.getCurrentDefinitionLevel)
    val descriptor = reader.getDescriptor
    if (definition < descriptor.getMaxDefinitionLevel) writer.writeNull(repetition, definition)
    else
      descriptor.getPrimitiveType.getPrimitiveTypeName match {
        case PrimitiveTypeName.INT32 => writer.write(reader.getInteger, repetition, definition)
        case PrimitiveTypeName.INT64 => writer.write(reader.getLong, repetition, definition)
        case PrimitiveTypeName.FLOAT => writer.write(reader.getFloat, repetition, definition)
        case PrimitiveTypeName.DOUBLE => writer.write(reader.getDouble, repetition, definition)
        case PrimitiveTypeName.BOOLEAN => writer.write(reader.getBoolean, repetition, definition)
        case _ => writer.write(reader.getBinary, repetition, definition)
      }
  }

  /** Writes a row without a value, or where a column must have one, any: its cell is lost. */
  def writeLost(descriptor: ColumnDescriptor, writer: ColumnWriter): Unit = {
    val kind = descriptor.getPrimitiveType
    if (descriptor.getMaxDefinitionLevel > 0) writer.writeNull(0, 0)
    else
      kind.getPrimitiveTypeName match {
        case PrimitiveTypeName.INT32 => writer.write(0, 0, 0)
        case PrimitiveTypeName.INT64 => writer.write(0L, 0, 0)
        case PrimitiveTypeName.FLOAT => writer.write(0f, 0, 0)
        case PrimitiveTypeName.DOUBLE => writer.write(0d, 0, 0)
        case PrimitiveTypeName.BOOLEAN => writer.write(false, 0, 0)
        case PrimitiveTypeName.INT96 => writer.write(zeros(12), 0, 0)
        case PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY => writer.write(zeros(kind.getTypeLength), 0, 0)
        case PrimitiveTypeName.BINARY => writer.write(zeros(0), 0, 0)
      }
  }

  private def zeros(length: Int) = Binary.fromConstantByteArray(new Array[Byte](length))

  /** Takes values that only had to be decoded. */
  private object Nowhere extends PrimitiveConverter {
    override def addBinary(value: Binary): Unit = ()
    override def addBoolean(value: Boolean): Unit = ()
    override def addDouble(value: Double): Unit = ()
    override def addFloat(value: Float): Unit = ()
    override def addInt(value: Int): Unit = ()
    override def addLong(value: Long): Unit = ()
  }
}
