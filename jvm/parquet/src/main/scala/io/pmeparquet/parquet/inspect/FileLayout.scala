package io.pmeparquet.parquet.inspect

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.internal.hadoop.metadata.IndexReference

import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{FileBytes, ReadCounters}
import io.pmeparquet.parquet.chunk.{Chunk, CompressedPageReader, OpenedHeader, Window}
import io.pmeparquet.parquet.file.{Indexes, OpenFile, OpenFiles}
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeException

/**
 * A part of a file. ''Crosses the wire''.
 *
 * @param kind the specification's name of a module, or `pages` for pages that are not listed one by one
 * @param column its name in Spark
 * @param page its number among the data pages of its column chunk
 * @param key `footer key`, `column key`, or none if it is not encrypted
 * @param masterKey the master key of a column key
 */
final case class LaidOut(
    kind: String,
    rowGroup: Int,
    column: String,
    page: Option[Int],
    offset: Long,
    length: Long,
    key: Option[String],
    masterKey: Option[String]
)

/**
 * The places of a file's modules, and which key opens each. It reads only the headers of pages, and omits whatever does
 * not open. ''Crosses the wire''.
 *
 * @param most the most pages to list one by one; each later column chunk lists its pages as one part
 */
final class FileLayout(scope: ReadScope, most: Int) extends Serializable {

  /**
   * @param goOn called often; throws if the work is no longer wanted
   * @return at most a few times `most` parts
   * @throws io.pmeparquet.PmeException if the footer does not open
   */
  def of(listed: ListedFile, conf: Configuration, goOn: () => Unit): Seq[LaidOut] = {
    val counters = new ReadCounters
    val file = OpenFiles.read(scope, listed.version, conf, counters)
    val bytes = file.bytes(conf, counters)
    try new Places(file, bytes, counters, most, goOn).all
    finally bytes.close()
  }
}

private final class Places(
    file: OpenFile,
    bytes: FileBytes,
    counters: ReadCounters,
    most: Int,
    goOn: () => Unit
) {
  private val indexes = new Indexes(file, bytes, counters)
  private val window = new Window(bytes, Places.ReadBytes)
  private val found = mutable.ArrayBuffer.empty[LaidOut]
  private var pages = 0

  def all: List[LaidOut] = {
    file.indexRange.foreach(bytes.keep)
    val chunks = for {
      group <- (0 until file.rowGroupCount).iterator
      chunk <- chunksOf(group)
    } yield group -> chunk
    while (found.size < Places.MostPerPage * most.toLong && chunks.hasNext) {
      goOn()
      val (group, chunk) = chunks.next()
      opened(new ChunkPlaces(group, chunk).add())
    }
    found.toList
  }

  /** The chunks whose metadata opens. */
  private def chunksOf(group: Int): Seq[Chunk] =
    opened(file.chunks(group, counters)).getOrElse {
      file.leaves.flatMap(one => opened(file.chunks(group, Seq(one.path), counters).chunks.head))
    }

  /** Omits whatever does not open; verification reports it. */
  private def opened[A](open: => A): Option[A] =
    try Some(open)
    catch { case failed: PmeException if !PmeException.isOfCancelled(failed) => None }

  private final class ChunkPlaces(group: Int, chunk: Chunk) {
    private val masterKey = file.masterKeyOf(group, chunk)
    private val key = chunk.key.map(_ => if (masterKey.isDefined) "column key" else "footer key")

    def add(): Unit = {
      if (chunk.meta.getTotalSize > 0) opened(addPages())
      addIndex(ModuleKind.ColumnIndex, chunk.meta.getColumnIndexReference)
      addIndex(ModuleKind.OffsetIndex, chunk.meta.getOffsetIndexReference)
      if (indexes.hasFilter(chunk)) opened(addBloomFilter())
      ()
    }

    private def add(kind: String, offset: Long, length: Long, page: Option[Int] = None): Unit =
      found += LaidOut(kind, group, chunk.display, page, offset, length, key, masterKey)

    private def addIndex(kind: ModuleKind, reference: IndexReference): Unit =
      if (reference != null) add(kind.name, reference.getOffset, reference.getLength.toLong)

    private def addBloomFilter(): Unit = {
      val offset = chunk.meta.getBloomFilterOffset
      val header = indexes.filterHeader(chunk)
      val frame = if (chunk.key.isEmpty) 0 else ModuleFrame.GcmOverheadBytes
      add(ModuleKind.BloomFilterHeader.name, offset, header.bitsAt - offset)
      add(ModuleKind.BloomFilterBitset.name, header.bitsAt, header.bitsetBytes.toLong + frame)
    }

    private def addPages(): Unit = {
      val (start, end) = file.boundsOf(chunk)
      window.limitTo(end)
      val reader = new CompressedPageReader(file.source(chunk, counters), allowClearLevels = true)
      val dictionary = if (chunk.mayHaveDictionary) headerAt(reader, start, None) else None
      val data = dictionary.filter(_._1.isDictionary).fold(start) { case (page, length) =>
        addPage(page, length, None)
      }
      addDataPages(reader, data, end, 0)
    }

    @tailrec
    private def addDataPages(reader: CompressedPageReader, at: Long, end: Long, number: Int): Unit =
      if (at < end) {
        goOn()
        headerAt(reader, at, Some(number)) match {
          case Some((page, length)) =>
            addDataPages(reader, addPage(page, length, Some(number)), end, number + 1)
          case None => add(Places.Unlisted, at, end - at)
        }
      }

    private def headerAt(reader: CompressedPageReader, at: Long, number: Option[Int]) =
      if (pages < most) opened(reader.headerAt(window, at, number)) else None

    /** @return the offset of the next page */
    private def addPage(page: OpenedHeader, length: Int, number: Option[Int]): Long = {
      pages += 1
      val at = page.place.offset
      val header = if (number.isEmpty) ModuleKind.DictionaryPageHeader else ModuleKind.DataPageHeader
      add(header.name, at, page.headerBytes.toLong, number)
      add(page.kind.name, at + page.headerBytes, length.toLong, number)
      at + page.headerBytes + length
    }
  }
}

private object Places {
  val Unlisted = "pages"

  /** A chunk without listed pages still has its pages as one part, indexes and a filter. */
  val MostPerPage = 5L

  val ReadBytes: Int = 64 * 1024
}
