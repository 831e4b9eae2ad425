package io.pmeparquet.parquet.file

import scala.collection.JavaConverters._

import org.apache.parquet.format.{ColumnChunk, ColumnMetaData, RowGroup}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.metadata.BlockMetaData

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.parquet.bytes.{FileVersion, ParquetFailures, ReadCounters}
import io.pmeparquet.parquet.chunk.{Chunk, RowGroupChunks}

/** Opens the metadata of a file's column chunks. */
private[file] final class ChunkMetadata(version: FileVersion, shape: FileShape, crypto: Option[FileCrypto]) {
  private val converter = new ParquetMetadataConverter

  /**
   * The chunks of a row group's columns. Decrypts the metadata of each.
   *
   * @throws io.pmeparquet.PmeException if a column's key is missing, refused or wrong
   */
  def of(rowGroup: Int, columns: Seq[Seq[String]], counters: ReadCounters): RowGroupChunks = {
    val group = shape.groups(rowGroup)
    val wanted = columns.map(path => shape.ordinalOf(path) -> shape.displayOf(path))
    crypto.foreach(_.prepare(wanted.map { case (ordinal, name) => name -> group.getColumns.get(ordinal) }))
    val opened = wanted.map { case (ordinal, name) =>
      (ordinal, name, open(rowGroup, ordinal, name, counters))
    }
    val block = if (columns.isEmpty) None else Some(blockOf(rowGroup, opened.map(_._3.chunk)))
    val metadata = block.map(_.getColumns.asScala.toSeq).getOrElse(Nil)
    val chunks = opened.zip(metadata).map { case ((ordinal, name, column), meta) =>
      val chunk = new Chunk(
        shape.descriptors(ordinal),
        meta,
        name,
        ordinal,
        shape.ordinal(rowGroup),
        group.getNum_rows,
        column.key,
        column.chunk
      )
      requireValues(chunk)
      chunk
    }
    new RowGroupChunks(rowGroup, chunks, block)
  }

  /** The metadata that parquet-java's filters take. */
  private def blockOf(rowGroup: Int, chunks: Seq[ColumnChunk]): BlockMetaData = {
    val group = shape.groups(rowGroup)
    val copy = new RowGroup(chunks.asJava, group.getTotal_byte_size, group.getNum_rows)
      .setOrdinal(shape.ordinal(rowGroup).toShort)
    ParquetFailures.naming(version.path, s"the metadata of row group $rowGroup") {
      converter.fromParquetMetadata(shape.withRowGroups(Seq(copy))).getBlocks.get(0)
    }
  }

  /** Requires one value for each row, null or not, and at least one in repeated columns. */
  private def requireValues(chunk: Chunk): Unit = {
    val (values, rows) = (chunk.meta.getValueCount, chunk.rowCount)
    val fits = if (chunk.descriptor.getMaxRepetitionLevel == 0) values == rows else values >= rows
    if (!fits)
      throw PmeErrors.damaged(
        s"${version.path}, column '${chunk.display}'",
        s"it states $values values, but its row group states $rows rows"
      )
  }

  private def open(rowGroup: Int, ordinal: Int, name: String, counters: ReadCounters): OpenedColumn = {
    val group = shape.groups(rowGroup)
    val chunk = group.getColumns.get(ordinal)
    val where = s"${version.path}, column '$name'"
    val (metadata, key) =
      if (!chunk.isSetCrypto_metadata) (chunk.getMeta_data, None)
      else {
        val file = crypto.getOrElse(
          throw PmeErrors.notAuthentic(where, "its metadata, in a footer without signature,")
        )
        val withFooterKey = chunk.getCrypto_metadata.isSetENCRYPTION_WITH_FOOTER_KEY
        val key = if (withFooterKey) file.footerKey else file.columnKey(chunk, name, counters)
        val metadata =
          if (withFooterKey && file.footerEncrypted) chunk.getMeta_data
          else file.columnMetadata(key, chunk, shape.ordinal(rowGroup), ordinal, where, counters)
        (metadata, Some(key))
      }
    if (metadata == null) throw PmeErrors.damaged(where, "it has no metadata")
    if (metadata.getPath_in_schema.asScala != shape.descriptors(ordinal).getPath.toSeq)
      throw PmeErrors.damaged(
        where,
        s"its metadata is that of column ${metadata.getPath_in_schema.asScala.mkString(".")}"
      )
    new OpenedColumn(plain(chunk, metadata), key)
  }

  /** The chunk as if the file were not encrypted, from which parquet-java makes its own metadata. */
  private def plain(chunk: ColumnChunk, metadata: ColumnMetaData): ColumnChunk = {
    val copy = new ColumnChunk(chunk)
    copy.setMeta_data(metadata)
    copy.unsetCrypto_metadata()
    copy.unsetEncrypted_column_metadata()
    copy.unsetFile_path()
    copy
  }
}

private final class OpenedColumn(val chunk: ColumnChunk, val key: Option[AesKey])
