package io.pmeparquet.parquet.file

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.JavaConverters._

import org.apache.parquet.format.{ColumnChunk, EncryptionWithColumnKey, FileMetaData}

import io.pmeparquet.columns.ColumnProtection.ColumnKey
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.bytes.FileVersion

/**
 * Files whose columns have keys of their own, but no key metadata, as low-level writers make them (Polars, arrow-rs,
 * Arrow C++). With `keyManagement=direct`, the read's own options name these keys. It is then as if the file named them:
 * every rule about keys that files name holds.
 */
private[file] object NamedByRead {

  /**
   * Completes an authenticated footer. Columns that the read names no key for stay without key metadata.
   *
   * @return the columns whose keys the read has named
   */
  def complete(footer: FileMetaData, version: FileVersion, settings: ReadSettings): Set[Seq[String]] = {
    val named = for {
      policy <- settings.columns.toSeq if settings.directKeys && chunks(footer).flatMap(unnamed).nonEmpty
      shape = new FileShape(version, footer)
      (leaf, asked) <- shape.leaves.zip(policy.of(shape.leaves))
      ColumnKey(id) <- asked.accepted.headOption.toSeq
      group <- shape.groups
      key <- unnamed(shape.chunkOf(group, leaf.path))
    } yield {
      key.setKey_metadata(id.getBytes(UTF_8))
      leaf.path
    }
    named.toSet
  }

  private def chunks(footer: FileMetaData) =
    Option(footer.getRow_groups).toSeq.flatMap(_.asScala).flatMap(_.getColumns.asScala)

  private def unnamed(chunk: ColumnChunk): Option[EncryptionWithColumnKey] =
    Option(chunk.getCrypto_metadata)
      .filter(_.isSetENCRYPTION_WITH_COLUMN_KEY)
      .map(_.getENCRYPTION_WITH_COLUMN_KEY)
      .filterNot(_.isSetKey_metadata)
}
