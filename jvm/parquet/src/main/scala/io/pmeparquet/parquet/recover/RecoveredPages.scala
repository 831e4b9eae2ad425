package io.pmeparquet.parquet.recover

import java.util.BitSet

import scala.collection.mutable

import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.column.{ColumnDescriptor, ColumnWriter, Encoding, ParquetProperties}
import org.apache.parquet.column.impl.ColumnWriteStoreV1
import org.apache.parquet.column.page._
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.column.values.factory.DefaultV1ValuesWriterFactory
import org.apache.parquet.schema.{GroupType, MessageType, Type}
import org.apache.parquet.VersionParser.ParsedVersion

import io.pmeparquet.parquet.file.ColumnPages

/**
 * The pages of a leaf column for a reader of all rows of a row group: the sound ones, and pages of NULLs in the places
 * of the others. Where the column is repeated, values of rows that other leaves of its field have lost are left out, since
 * leaves of a list must agree on how many items each row has. For one thread.
 *
 * @param schema of the file
 * @param lost the rows that are lost in any leaf of the field
 */
private[recover] final class RecoveredPages(
    input: ColumnPages,
    column: SoundChunk,
    schema: MessageType,
    rowCount: Int,
    lost: BitSet,
    writer: ParsedVersion
) extends PageReader {
  import RecoveredPages._
  private val descriptor = column.descriptor
  private val isFlat = descriptor.getMaxRepetitionLevel == 0

  private val parts: Iterator[Part] = {
    val all = mutable.ArrayBuffer.empty[Part]
    var row = 0
    def upTo(next: Int): Unit = {
      (row until next by GapRows).foreach(from => all += Gap(GapRows.min(next - from)))
      row = next
    }
    column.pages.foreach { page =>
      upTo(page.first)
      all += Sound(page)
      row += page.rows
    }
    upTo(rowCount)
    all.iterator
  }

  /** Of a flat column, whose pages are taken as they are. */
  private lazy val sound = column.chunk.map { found =>
    ChunkRecovery.reader(
      input,
      found,
      column.pages.iterator.map(page => input.place(page.found.range, page.found.number))
    )
  }

  // How many values a repeated column has is not known before its pages are read. A reader that is not told looks for a
  // value behind the last row's, and finds the beginning of another row.
  override def getTotalValueCount: Long = if (isFlat) rowCount.toLong else Long.MaxValue

  override def readDictionaryPage(): DictionaryPage =
    if (isFlat) sound.map(_.readDictionaryPage()).orNull else null

  override def readPage(): DataPage =
    (if (parts.hasNext) parts.next() else Gap(1)) match {
      case Gap(rows) => written(out => (0 until rows).foreach(_ => PageValues.writeLost(descriptor, out)))
      case Sound(_) if isFlat => sound.get.readPage()
      case Sound(page) => written(kept(page, _))
    }

  /** The values of the page's rows, or NULL for those that are lost. */
  private def kept(page: SoundPage, out: ColumnWriter): Unit = {
    var row = page.first - 1
    ChunkRecovery.values(input, column.chunk.get, page.found, writer).foreach { reader =>
      val begins = reader.getCurrentRepetitionLevel == 0
      if (begins) row += 1
      if (row >= 0 && !lost.get(row)) PageValues.copy(reader, out)
      else if (begins) PageValues.writeLost(descriptor, out)
    }
  }

  /** The file's schema without other leaves. */
  private lazy val only: MessageType = {
    val path = descriptor.getPath
    new MessageType(schema.getName, narrowed((schema: GroupType).getType(path.head), path.tail.toSeq))
  }

  private def narrowed(field: Type, path: Seq[String]): Type =
    if (path.isEmpty) field
    else {
      val group = field.asGroupType
      group.withNewFields(narrowed(group.getType(path.head), path.tail))
    }

  private def written(write: ColumnWriter => Unit): DataPage = {
    val made = new OnePage
    val store = new ColumnWriteStoreV1(only, made, Plain)
    write(store.getColumnWriter(descriptor))
    // It writes no page before a row has ended, and does not ask how many have.
    store.endRecord()
    store.flush()
    // A page in which only values of a lost row go on.
    made.page.getOrElse(readPage())
  }
}

private object RecoveredPages {
  sealed trait Part
  final case class Sound(page: SoundPage) extends Part
  final case class Gap(rows: Int) extends Part

  /** As many rows as a page has by parquet-java's default. */
  val GapRows = 20000

  private val Plain = ParquetProperties
    .builder()
    .withDictionaryEncoding(false)
    .withPageSize(Int.MaxValue / 2)
    .withPageRowCountLimit(Int.MaxValue)
    .withPageWriteChecksumEnabled(false)
    // The usual one is shared by the JVM, and takes the properties that were made last.
    .withValuesWriterFactory(new DefaultV1ValuesWriterFactory)
    .build()

  /** Takes the only page that is written. */
  private final class OnePage extends PageWriteStore with PageWriter {
    var page: Option[DataPage] = None

    override def getPageWriter(path: ColumnDescriptor): PageWriter = this

    override def writePage(
        bytes: BytesInput,
        valueCount: Int,
        statistics: Statistics[_],
        repetition: Encoding,
        definition: Encoding,
        values: Encoding
    ): Unit = throw new UnsupportedOperationException("internal error: parquet-java has not called this since 1.11")

    override def writePage(
        bytes: BytesInput,
        valueCount: Int,
        rowCount: Int,
        statistics: Statistics[_],
        repetition: Encoding,
        definition: Encoding,
        values: Encoding
    ): Unit = {
      val content = BytesInput.copy(bytes)
      page = Some(
        new DataPageV1(content, valueCount, content.size.toInt, null, repetition, definition, values)
      )
    }

    override def writePageV2(
        rowCount: Int,
        nullCount: Int,
        valueCount: Int,
        repetition: BytesInput,
        definition: BytesInput,
        encoding: Encoding,
        data: BytesInput,
        statistics: Statistics[_]
    ): Unit = throw new UnsupportedOperationException("internal error: pages of version 1 are written")

    override def getMemSize: Long = 0
    override def allocatedSize: Long = 0
    override def writeDictionaryPage(dictionary: DictionaryPage): Unit =
      throw new UnsupportedOperationException("internal error: values are plain")
    override def memUsageString(prefix: String): String = prefix
  }
}
