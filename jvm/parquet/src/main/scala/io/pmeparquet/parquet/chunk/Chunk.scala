package io.pmeparquet.parquet.chunk

import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.format.ColumnChunk
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}

import io.pmeparquet.parquet.bytes.Segment
import io.pmeparquet.AesKey

/** The ciphers of one chunk: `headers` for page headers, indexes and Bloom filters, `pages` for pages. */
private[parquet] final class ChunkModules(val headers: Modules, val pages: Modules)

/**
 * A column chunk with its metadata decrypted.
 *
 * @param display the column's name in messages
 * @param ordinal the column's place in its row group, which the AAD of its modules contains
 * @param rowCount the number of rows in its row group
 * @param key none if it is not encrypted
 * @param struct the file's Thrift struct, except that its metadata is decrypted
 */
private[parquet] final class Chunk(
    val descriptor: ColumnDescriptor,
    val meta: ColumnChunkMetaData,
    val display: String,
    val ordinal: Int,
    val rowGroupOrdinal: Int,
    val rowCount: Long,
    val key: Option[AesKey],
    val struct: ColumnChunk
) {

  /**
   * In an encrypted chunk a page header opens only as the kind that it is, so there the metadata, which is
   * authenticated, must show whether there is a dictionary.
   */
  def mayHaveDictionary: Boolean = key.isEmpty || {
    val offset = meta.getDictionaryPageOffset
    meta.hasDictionaryPage || (offset > 0 && offset < meta.getFirstDataPageOffset)
  }

  /**
   * Whether levels may be outside of modules, which only V2 pages allow. The encoding stats state whether there are V2
   * pages; a file without encoding stats may have some.
   */
  def mayHaveClearLevels: Boolean = key.isDefined && hasLevels && {
    val stats = meta.getEncodingStats
    if (stats == null) meta.getValueCount > 0 else stats.usesV2Pages()
  }

  private def hasLevels = descriptor.getMaxRepetitionLevel + descriptor.getMaxDefinitionLevel > 0
}

private[parquet] final class RowGroupChunks(
    val rowGroup: Int,
    val chunks: Seq[Chunk],
    val block: Option[BlockMetaData]
)

/**
 * A chunk with its ciphers: what every reader of its pages needs. For one thread.
 *
 * @param modules none if the chunk is not encrypted
 * @param file its path, for messages
 */
private[parquet] final class ChunkSource(
    val chunk: Chunk,
    val modules: Option[ChunkModules],
    val file: String
) {

  /** File and column, for messages. */
  val where: String = s"$file, column '${chunk.display}'"
}

/** The rows of a page: the index of the first in its row group, and their number. */
private[parquet] final case class PageRows(first: Long, count: Int) {
  def holdAny(wanted: Rows): Boolean = count > 0 && wanted.overlaps(first, first + count - 1)
}

/**
 * Where a page begins, header first.
 *
 * @param segment the bytes of the file that contain it, at most to the end of the file
 * @param ordinal its number among the data pages of its chunk
 * @param rows known if the offset index gave the place
 */
private[parquet] final case class PagePlace(
    segment: Segment,
    offset: Long,
    ordinal: Int,
    rows: Option[PageRows]
) {

  /** The index at which it begins in the segment's array. */
  def index: Int = segment.indexOf(offset)
}

/** Which pages of a chunk to read, in order. For one thread. */
private[parquet] sealed trait PagePlaces {

  /** Whether these are all data pages of the chunk, so that a reader can count the values. */
  def areAll: Boolean

  /** Where the dictionary is if there is one; the header of the page there shows whether it is. */
  def dictionary: Option[PagePlace]

  /** The next data page. */
  def next(): Option[PagePlace]

  /** The reader reports here where a page ended, as an index in its segment's array. */
  def passed(place: PagePlace, end: Int): Unit
}

/** All pages of a chunk, one after the other. */
private[parquet] final class AllPages(segment: Segment) extends PagePlaces {
  private var offset = segment.offset
  private var ordinal = 0

  override def areAll: Boolean = true

  override def dictionary: Option[PagePlace] = place

  override def next(): Option[PagePlace] = {
    val next = place
    ordinal += 1
    next
  }

  private def place = if (offset >= segment.end) None else Some(PagePlace(segment, offset, ordinal, None))

  override def passed(place: PagePlace, end: Int): Unit =
    offset = segment.offset + (end - segment.at)
}

/** Some pages of a chunk, at places that are known. */
private[parquet] final class SomePages(
    override val dictionary: Option[PagePlace],
    places: Iterator[PagePlace]
) extends PagePlaces {
  override def areAll: Boolean = false
  override def next(): Option[PagePlace] = if (places.hasNext) Some(places.next()) else None
  override def passed(place: PagePlace, end: Int): Unit = ()
}
