package io.pmeparquet.parquet.recover

import org.apache.parquet.column.{ColumnDescriptor, ColumnReader}
import org.apache.parquet.column.impl.ColumnReaderImpl
import org.apache.parquet.column.page.{DataPage, DictionaryPage, PageReader}
import org.apache.parquet.io.api.{Binary, PrimitiveConverter}
import org.apache.parquet.io.ParquetDecodingException
import org.apache.parquet.VersionParser
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

  private var left = page.getValueCount

  def hasNext: Boolean = left > 0

  /**
   * Decodes the next value, and calls `each` when it is the reader's current one.
   *
   * @throws org.apache.parquet.io.ParquetDecodingException if a level is above what the schema allows
   */
  def next(each: ColumnReader => Unit): Unit = {
    if (
      reader.getCurrentDefinitionLevel > most ||
      reader.getCurrentRepetitionLevel > descriptor.getMaxRepetitionLevel
    ) throw new ParquetDecodingException("a level is above the highest of its column")
    if (reader.getCurrentDefinitionLevel == most) reader.writeCurrentValueToConverter()
    each(reader)
    reader.consume()
    left -= 1
  }

  /** As [[next]], for all that are left. */
  def foreach(each: ColumnReader => Unit): Unit = while (hasNext) next(each)

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
