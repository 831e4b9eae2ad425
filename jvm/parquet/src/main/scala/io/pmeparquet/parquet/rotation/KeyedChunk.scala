package io.pmeparquet.parquet.rotation

import java.nio.ByteBuffer

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.parquet.format.{ColumnChunk, FileMetaData, RowGroup}

/**
 * A column chunk that is encrypted with the column's own key, and whose footer entry has key metadata.
 *
 * @param name the column's path, joined with dots
 * @param group the ordinal of its row group
 * @param ordinal the column's place in its row group
 */
private[parquet] final case class KeyedChunk(name: String, chunk: ColumnChunk, group: Int, ordinal: Int) {
  private def crypto = chunk.getCrypto_metadata.getENCRYPTION_WITH_COLUMN_KEY
  def key: Array[Byte] = crypto.getKey_metadata
  def path: Seq[String] = crypto.getPath_in_schema.asScala.toSeq
}

private[parquet] object KeyedChunk {

  /** One chunk for each distinct key metadata of a footer. */
  def firstOfEachKey(metadata: FileMetaData): Seq[KeyedChunk] = {
    val seen = mutable.Set.empty[ByteBuffer]
    all(metadata).filter(one => seen.add(ByteBuffer.wrap(one.key)))
  }

  /** All of a footer, row group by row group. */
  def all(metadata: FileMetaData): Seq[KeyedChunk] =
    for {
      (group, index) <- Option(metadata.getRow_groups).fold(Seq.empty[RowGroup])(_.asScala.toSeq).zipWithIndex
      (chunk, ordinal) <- group.getColumns.asScala.toSeq.zipWithIndex
      crypto = chunk.getCrypto_metadata if crypto != null && crypto.isSetENCRYPTION_WITH_COLUMN_KEY
      key = crypto.getENCRYPTION_WITH_COLUMN_KEY if key.isSetKey_metadata
    } yield KeyedChunk(
      key.getPath_in_schema.asScala.mkString("."),
      chunk,
      if (group.isSetOrdinal) group.getOrdinal.toInt else index,
      ordinal
    )
}
