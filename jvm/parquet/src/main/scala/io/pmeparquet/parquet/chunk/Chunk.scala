package io.pmeparquet.parquet.chunk

import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.format.ColumnChunk
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}

import io.pmeparquet.AesKey

/** The ciphers of one chunk: `headers` for page headers, indexes and filters, `pages` for pages. */
private[parquet] final class ChunkModules(val headers: Modules, val pages: Modules)

/**
 * A column chunk, its metadata decrypted.
 *
 * @param display the column as messages name it
 * @param ordinal the column's place in its row group, which its modules are bound to
 * @param rowCount how many rows its row group has
 * @param key none where it is not encrypted
 * @param struct as the file has it, but that its metadata is decrypted
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

  /** Only its kind of header opens in an encrypted chunk, so there the metadata, which is authenticated, has to tell. */
  def mayHaveDictionary: Boolean = key.isEmpty || {
    val offset = meta.getDictionaryPageOffset
    meta.hasDictionaryPage || (offset > 0 && offset < meta.getFirstDataPageOffset)
  }

  /**
   * Whether levels may stand outside of modules, which only V2 pages let them: encoding stats tell, and a file that has
   * none is not trusted to have none of those pages.
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
