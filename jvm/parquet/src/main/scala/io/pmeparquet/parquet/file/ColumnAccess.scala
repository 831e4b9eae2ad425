package io.pmeparquet.parquet.file

import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeException

/**
 * A leaf column whose key the KMS refuses to this reader.
 *
 * @param path in the file
 * @param display as Spark names it
 * @param denied what the KMS said
 */
final case class RefusedColumn(path: Seq[String], display: String, masterKeyId: String, denied: PmeException)

/** Which keys the columns of a file are under, and whether this reader gets them. */
private[file] final class ColumnAccess(shape: FileShape, crypto: Option[FileCrypto]) {

  /** @throws io.pmeparquet.PmeException where a column's own key is not to be had, whatever it would open */
  def requireKey(rowGroup: Int, column: Seq[String], counters: ReadCounters): Unit = for {
    file <- crypto
    chunk = shape.chunkOf(shape.groups(rowGroup), column)
    metadata <- Option(chunk.getCrypto_metadata) if metadata.isSetENCRYPTION_WITH_COLUMN_KEY
  } file.columnKey(chunk, shape.displayOf(column), counters)

  /**
   * Those of some columns whose keys the KMS refuses to this reader, be it in one row group.
   *
   * @throws io.pmeparquet.PmeException where a key is not to be had for another reason
   */
  def refused(columns: Seq[Seq[String]], counters: ReadCounters): Seq[RefusedColumn] = crypto.toSeq.flatMap {
    file =>
      val chunks = for (path <- columns; group <- shape.groups) yield path -> shape.chunkOf(group, path)
      // Row groups of one writer share a column's key.
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

  /** Columns that are protected otherwise than the scope's policy asks for, and why they are refused. No key is used. */
  def deviations(scope: ReadScope): Seq[(FileColumn, PmeException)] = for {
    file <- crypto.toSeq
    policy <- scope.settings.columns.toSeq
    (leaf, refused) <- file.check(policy).columns(shape.leaves, shape.groups)
  } yield FileColumn(leaf.path, leaf.display) -> refused

  /** The id of the master key that a chunk's own key is under; none where it has none. */
  def masterKeyOf(rowGroup: Int, chunk: Chunk): Option[String] =
    crypto.flatMap(_.masterKeyOf(shape.groups(rowGroup).getColumns.get(chunk.ordinal), chunk.display))
}
