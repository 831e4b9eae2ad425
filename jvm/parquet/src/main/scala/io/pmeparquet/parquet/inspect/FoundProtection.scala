package io.pmeparquet.parquet.inspect

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.parquet.format.{ColumnChunk, FileMetaData}

import io.pmeparquet.parquet.bytes.FileTail
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.PmeErrors

/**
 * What protects a column in a file (specification §5.3, `ColumnCryptoMetaData`). ''Crosses the wire''.
 *
 * @param column its name in Spark
 * @param kind `footer key`, `column key` or `plaintext`
 * @param masterKey the key's master key; none for a plaintext column, or if nobody asked
 */
final case class FoundProtection(column: String, kind: String, masterKey: Option[String] = None) {
  def isReadable: Boolean = kind == FoundProtection.Plaintext
}

object FoundProtection {
  val FooterKey = "footer key"
  val ColumnKey = "column key"
  val Plaintext = "plaintext"

  /** One column chunk of a footer, with the name of its column in Spark. */
  final case class NamedChunk(column: String, chunk: ColumnChunk) {

    /** Readers read a chunk that states no key without one, whatever else it states. */
    def kind: String =
      if (!chunk.isSetCrypto_metadata) Plaintext
      else if (chunk.getCrypto_metadata.isSetENCRYPTION_WITH_COLUMN_KEY) ColumnKey
      else FooterKey
  }

  /**
   * The protection of every column chunk. A column appears more than once if row groups protect it differently.
   *
   * @param masterKey the master key of an encrypted chunk
   */
  def of(chunks: Seq[NamedChunk])(masterKey: NamedChunk => Option[String]): Seq[FoundProtection] =
    chunks.map { one =>
      FoundProtection(one.column, one.kind, if (one.kind == Plaintext) None else masterKey(one))
    }.distinct

  /**
   * All chunks of a footer, row group by row group.
   *
   * @throws io.pmeparquet.PmeException if its row groups do not fit its schema
   */
  private[parquet] def chunks(footer: FileMetaData, file: Path): Seq[NamedChunk] = {
    val names = SchemaColumns.namesOf(footer)
    FileTail.rowGroups(footer).flatMap { group =>
      if (group.getColumns.size != names.size)
        throw PmeErrors.damaged(
          file.toString,
          s"a row group has ${group.getColumns.size} columns, but the schema has ${names.size}"
        )
      names.zip(group.getColumns.asScala).map { case (name, chunk) => NamedChunk(name, chunk) }
    }
  }
}
