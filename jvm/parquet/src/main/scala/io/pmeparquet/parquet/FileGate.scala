package io.pmeparquet.parquet

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.FileDecryptionProperties
import org.apache.parquet.hadoop.metadata.{ColumnChunkMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.ParquetReadOptions

import io.pmeparquet.{PmeErrors, RecentValues}
import io.pmeparquet.columns.LeafColumn

/**
 * Opens a file's footer and the metadata of the columns a query wants, before any page is read: so that a missing key,
 * a wrong one or an unsafe page layout is told with file and column, and a query that cannot finish does not begin.
 */
final class FileGate(scope: ReadScope, columns: WantedColumns) {
  private val passed = new RecentValues[FileVersion, Unit](FileGate.MaxFiles, FileGate.LifetimeMillis)

  /** @throws io.pmeparquet.PmeException whatever keeps the query from reading this file */
  def check(path: Path, conf: Configuration): Unit = passed.get(FileVersion.of(path, conf)) {
    val (properties, keys) = FileDecryption.admit(scope, path, conf)
    properties.foreach(open(path, conf, _, keys))
  }

  private def open(
      path: Path,
      conf: Configuration,
      properties: FileDecryptionProperties,
      keys: FileKeys
  ): Unit = {
    val reader = ParquetFailures.naming(path, "its footer") {
      val options = ParquetReadOptions.builder().withDecryption(properties).build()
      ParquetFileReader.open(HadoopInputFile.fromPath(path, conf), options)
    }
    try
      columnsOf(reader.getFooter).foreach { case (leaf, chunk) =>
        ParquetFailures.naming(path, s"the metadata of column '${leaf.display}'") {
          keys.forColumn(leaf.display)(checkColumn(path, leaf, chunk, reader.getFooter))
        }
      }
    finally reader.close()
  }

  private def checkColumn(
      path: Path,
      leaf: LeafColumn,
      chunk: ColumnChunkMetaData,
      footer: ParquetMetadata
  ): Unit = {
    // Asking for anything decrypts the column's metadata, and so asks for its key.
    val stats = chunk.getEncodingStats
    if (isEncrypted(chunk, footer) && !scope.settings.allowClearLevels) {
      // Whether pages are V2 is only said by encoding stats; a file that does not say is not trusted to have none.
      val clear = if (stats == null) chunk.getValueCount > 0 else stats.usesV2Pages()
      if (clear && hasLevels(chunk)) throw PmeErrors.clearLevels(path.toString, leaf.display)
    }
  }

  // The chunk itself knows of column keys only; the decryptor knows of the footer key too.
  private def isEncrypted(chunk: ColumnChunkMetaData, footer: ParquetMetadata): Boolean =
    Option(footer.getFileMetaData.getFileDecryptor).exists(_.getColumnSetup(chunk.getPath).isEncrypted)

  private def hasLevels(chunk: ColumnChunkMetaData): Boolean =
    chunk.getPath.size > 1 || !chunk.getPrimitiveType.isRepetition(
      org.apache.parquet.schema.Type.Repetition.REQUIRED
    )

  private def columnsOf(footer: ParquetMetadata): Seq[(LeafColumn, ColumnChunkMetaData)] = {
    val leaves = columns.in(footer.getFileMetaData.getSchema)
    val byPath = leaves.map(leaf => leaf.path -> leaf).toMap
    for {
      block <- footer.getBlocks.asScala.toList
      chunk <- block.getColumns.asScala
      leaf <- byPath.get(chunk.getPath.toArray.toList)
    } yield leaf -> chunk
  }
}

object FileGate {
  private val MaxFiles = 1000

  /** As long as a query runs: parquet-java authenticates again what it reads. */
  private val LifetimeMillis = Long.MaxValue
}
