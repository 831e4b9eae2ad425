package io.pmeparquet.parquet.recover

import java.util.BitSet

import scala.collection.mutable

import org.apache.parquet.column.page.{DataPage, DictionaryPage, PageReader}
import org.apache.parquet.VersionParser.ParsedVersion

import io.pmeparquet.parquet.file.ColumnPages

/**
 * The pages of a leaf column for a reader of all rows of a row group: the sound ones, and pages of NULLs in the places
 * of the others. Where the column is repeated, values of rows that other leaves of its field have lost are left out, since
 * leaves of a list must agree on how many items each row has. For one thread.
 *
 * @param lost the rows that are lost in any leaf of the field
 */
private[recover] final class RecoveredPages(
    input: ColumnPages,
    column: SoundChunk,
    rowCount: Int,
    lost: BitSet,
    writer: ParsedVersion
) extends PageReader {
  import RecoveredPages._
  private val descriptor = column.descriptor
  private val isFlat = descriptor.getMaxRepetitionLevel == 0

  /** A required cell has as many bytes as its type, and a page of them must not take much. */
  private val gapRows =
    if (descriptor.getMaxDefinitionLevel > 0) GapRows
    else (PageBytes / descriptor.getPrimitiveType.getTypeLength.max(16)).max(1).min(GapRows)

  private val parts: Iterator[Part] = {
    val all = mutable.ArrayBuffer.empty[Part]
    var row = 0
    def upTo(next: Int): Unit = {
      (row until next by gapRows).foreach(from => all += Gap(gapRows.min(next - from)))
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
    val places = column.pages.iterator.map(page => input.place(page.found.range, page.found.number))
    val dictionary = found.dictionary.map(one => input.place(one.range, 0))
    input.some(found.chunk, dictionary, places, found.dictionaries)
  }

  // How many values a repeated column has is not known before its pages are read. Without a number, a reader looks for a
  // value behind the last row's, and finds the beginning of another row.
  override def getTotalValueCount: Long = if (isFlat) rowCount.toLong else Long.MaxValue

  override def readDictionaryPage(): DictionaryPage =
    if (isFlat) sound.map(_.readDictionaryPage()).orNull else null

  override def readPage(): DataPage =
    if (opened.exists(_.values.hasNext)) opened.get.page()
    else
      (if (parts.hasNext) parts.next() else Gap(1)) match {
        case Gap(rows) =>
          val made = new PlainPage(descriptor)
          (0 until rows).foreach(_ => made.addLost())
          made.result()
        case Sound(_) if isFlat => sound.get.readPage()
        case Sound(page) =>
          opened = Some(new Opened(page))
          opened.get.page()
      }

  /** A page of a repeated column that has become pages in part. */
  private var opened: Option[Opened] = None

  private final class Opened(page: SoundPage) {
    private val found = column.chunk.get
    private var row = page.first - 1
    val values: PageValues =
      ChunkRecovery.values(input, found, ChunkRecovery.places(input, found, page.found), writer)

    /** The next values, or NULL for rows that are lost. A few bytes that name long words become several pages. */
    def page(): DataPage = {
      val made = new PlainPage(descriptor)
      while (values.hasNext && made.size < PageBytes) values.next { reader =>
        val begins = reader.getCurrentRepetitionLevel == 0
        if (begins) row += 1
        if (row >= 0 && !lost.get(row)) made.add(reader)
        else if (begins) made.addLost()
      }
      // There is none if only values of a lost row go on in it.
      if (made.isEmpty) readPage() else made.result()
    }
  }
}

private object RecoveredPages {

  /** A piece of a column: a page, or rows without one. */
  sealed trait Part
  final case class Sound(page: SoundPage) extends Part
  final case class Gap(rows: Int) extends Part

  /** As many rows as a page has by parquet-java's default. */
  val GapRows = 20000

  val PageBytes: Int = 1 << 20
}
