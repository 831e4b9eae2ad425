package io.pmeparquet.parquet.file

import org.apache.parquet.format.ColumnChunk

import io.pmeparquet.columns.ColumnProtection
import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeException

/**
 * A leaf column whose key the KMS denies to this reader.
 *
 * @param path its path in the file
 * @param display its name in Spark
 * @param denied the KMS's refusal
 */
final case class RefusedColumn(path: Seq[String], display: String, masterKeyId: String, denied: PmeException)

/** Which keys protect the columns of a file, and whether this reader gets them. */
private[file] final class ColumnAccess(shape: FileShape, crypto: Option[FileCrypto]) {

  /** @throws io.pmeparquet.PmeException if a column's own key is not available, whatever it would open */
  def requireKey(rowGroup: Int, column: Seq[String], counters: ReadCounters): Unit = for {
    file <- crypto
    chunk = shape.chunkOf(shape.groups(rowGroup), column)
    metadata <- Option(chunk.getCrypto_metadata) if metadata.isSetENCRYPTION_WITH_COLUMN_KEY
  } file.columnKey(chunk, shape.displayOf(column), counters)

  /**
   * Those of some columns whose keys the KMS denies to this reader in any row group.
   *
   * @throws io.pmeparquet.PmeException if a key is not available for another reason
   */
  def refused(columns: Seq[Seq[String]], counters: ReadCounters): Seq[RefusedColumn] = crypto.toSeq.flatMap {
    file =>
      val chunks = for (path <- columns; group <- shape.groups) yield path -> shape.chunkOf(group, path)
      // One writer's row groups share a column's key.
      val distinct = chunks.groupBy { case (path, chunk) => path -> chunk.getCrypto_metadata }.map(_._2.head)
      file.prepare(distinct.toSeq.map { case (path, chunk) => shape.displayOf(path) -> chunk })
      columns.flatMap { path =>
        distinct.toSeq
          .collect { case (`path`, chunk) => chunk }
          .flatMap(file.refusal(_, shape.displayOf(path), counters))
          .headOption
          .map(refusal => RefusedColumn(path, shape.displayOf(path), refusal.masterKeyId, refusal.denied))
      }
  }

  /** Those of some columns that have keys of their own in any row group. It uses no key. */
  def withOwnKey(columns: Seq[Seq[String]]): Seq[Seq[String]] = columns.filter { path =>
    shape.groups.exists { group =>
      val metadata = shape.chunkOf(group, path).getCrypto_metadata
      metadata != null && metadata.isSetENCRYPTION_WITH_COLUMN_KEY
    }
  }

  /** Columns that deviate from the scope's policy, and why they are refused. It uses no key. */
  def deviations(scope: ReadScope): Seq[(FileColumn, PmeException)] = for {
    file <- crypto.toSeq
    policy <- scope.settings.columns.toSeq
    (leaf, refused) <- file.check(policy).columns(shape.leaves, shape.groups)
  } yield FileColumn(leaf.path, leaf.display) -> refused

  /** What protects the chunks of each leaf column, by its path. It uses no key. */
  def protections: Seq[(Seq[String], ColumnProtection)] = {
    for {
      leaf <- shape.leaves
      group <- shape.groups
    } yield leaf.path -> protectionOf(shape.chunkOf(group, leaf.path), leaf.display)
  }.distinct

  private def protectionOf(chunk: ColumnChunk, name: String): ColumnProtection =
    if (!chunk.isSetCrypto_metadata) ColumnProtection.Plaintext
    else
      crypto
        .flatMap(_.masterKeyOf(chunk, name))
        .fold[ColumnProtection](ColumnProtection.FooterKey)(ColumnProtection.ColumnKey(_))

  /** The id of the master key of a chunk's own key; none if it has no key of its own. */
  def masterKeyOf(rowGroup: Int, chunk: Chunk): Option[String] =
    crypto.flatMap(_.masterKeyOf(shape.groups(rowGroup).getColumns.get(chunk.ordinal), chunk.display))
}
