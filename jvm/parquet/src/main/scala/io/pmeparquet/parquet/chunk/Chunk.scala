package io.pmeparquet.parquet.chunk

import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.format.ColumnChunk
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}

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
