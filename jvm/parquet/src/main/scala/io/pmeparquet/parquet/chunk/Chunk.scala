package io.pmeparquet.parquet.chunk

import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.format.ColumnChunk
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}

import io.pmeparquet.AesKey

/** The ciphers of one chunk: `headers` for page headers, indexes and filters, `pages` for pages. */
private[parquet] final class ChunkModules(val headers: Modules, val pages: Modules)

/**
 * A column chunk with decrypted metadata.
 *
 * @param display the column's name in messages
 * @param ordinal the column's place in its row group, to which its modules are bound
 * @param rowCount number of rows in its row group
 * @param key none if it is not encrypted
 * @param struct as in the file, but with decrypted metadata
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
   * In an encrypted chunk only headers of the right kind open, so the metadata, which is authenticated, must say which
   * kind it is.
   */
  def mayHaveDictionary: Boolean = key.isEmpty || {
    val offset = meta.getDictionaryPageOffset
    meta.hasDictionaryPage || (offset > 0 && offset < meta.getFirstDataPageOffset)
  }

  /**
   * Whether levels may be outside of modules, which only V2 pages allow. The encoding statistics show it; a file
   * without them may have such pages.
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
