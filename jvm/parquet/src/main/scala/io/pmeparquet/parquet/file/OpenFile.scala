package io.pmeparquet.parquet.file

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.FileMetaData
import org.apache.parquet.schema.MessageType

import io.pmeparquet.columns.ColumnProtection
import io.pmeparquet.parquet.bytes.{FileBytes, FileVersion, Range, ReadCounters, Segment}
import io.pmeparquet.parquet.chunk.{Chunk, ChunkModules, ChunkSource, RowGroupChunks}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeException

/**
 * A file whose footer is read, admitted by the scope's policy, authenticated and parsed. It holds keys and no pages,
 * and serves all tasks of this JVM that read the file within the scope.
 *
 * @param namedByRead the columns whose keys the read names, since the file does not
 * @param footerSha256 SHA-256 of the footer, its length and the magic at the end of the file
 */
private[parquet] final class OpenFile private[file] (
    val version: FileVersion,
    val footer: FileMetaData,
    crypto: Option[FileCrypto],
    val namedByRead: Set[Seq[String]],
    tail: Segment,
    val footerSha256: Array[Byte]
) {

  /** The master key of the footer's key; none if the file is not encrypted. */
  def footerMasterKey: Option[String] = crypto.flatMap(_.masterKeyOfFooter)

  private val shape = new FileShape(version, footer)
  private val metadata = new ChunkMetadata(version, shape, crypto)
  private val access = new ColumnAccess(shape, crypto)
  private val places = new ChunkPlaces(version)

  /** Reads the rest of the file. */
  def bytes(conf: Configuration, counters: ReadCounters): FileBytes =
    new FileBytes(version, conf, counters, Some(tail))

  /** Schema, key-value metadata and writer, in parquet-java's form. */
  def fileMetaData: org.apache.parquet.hadoop.metadata.FileMetaData = shape.metadata
  def schema: MessageType = shape.schema
  def isEncrypted: Boolean = crypto.isDefined

  /** All leaf columns. */
  def columns: Seq[FileColumn] = shape.columns

  /**
   * The row groups that belong to a split of the file: those whose middle is in it. Each then belongs to one split,
   * wherever the splits are cut.
   */
  def rowGroups(start: Long, length: Long): Seq[Int] = shape.rowGroups(start, length)
  def rowGroupCount: Int = shape.groups.size
  def rowCount(rowGroup: Int): Long = shape.rowCount(rowGroup)

  /** The index in the file of a row group's first row. */
  def firstRow(rowGroup: Int): Long = shape.firstRow(rowGroup)

  /** The paths of a row group's columns that are encrypted with the footer key, or with keys of their own. */
  def sealedColumns(rowGroup: Int, withFooterKey: Boolean): Seq[Seq[String]] =
    shape.sealedColumns(rowGroup, withFooterKey)

  /** The chunks of all columns of a row group. */
  def chunks(rowGroup: Int, counters: ReadCounters): Seq[Chunk] =
    metadata.of(rowGroup, columns.map(_.path), counters).chunks

  /**
   * The chunks of a row group's columns. Decrypts the metadata of each.
   *
   * @throws io.pmeparquet.PmeException if a column's key is missing, refused or wrong
   */
  def chunks(rowGroup: Int, columns: Seq[Seq[String]], counters: ReadCounters): RowGroupChunks =
    metadata.of(rowGroup, columns, counters)

  /** The ciphers of a chunk's modules; none if it is not encrypted. */
  def modules(chunk: Chunk, counters: ReadCounters): Option[ChunkModules] =
    for (file <- crypto; key <- chunk.key) yield file.modules(chunk, key, counters)

  /** A chunk with its ciphers. */
  def source(chunk: Chunk, counters: ReadCounters): ChunkSource =
    new ChunkSource(chunk, modules(chunk, counters), version.path.toString)

  /** The place of a chunk. */
  def rangeOf(chunk: Chunk): Range = places.rangeOf(chunk)

  /** The place of a part of a chunk, checked to be inside the file. */
  def rangeOf(chunk: Chunk, offset: Long, length: Long): Range = places.rangeOf(chunk, offset, length)

  /** Where a chunk begins and ends, for callers that read it in parts. */
  def boundsOf(chunk: Chunk): (Long, Long) = places.boundsOf(chunk)

  /**
   * The range from the first index to the end of the file, unless it is long: all indexes are in it, and often the
   * filters.
   */
  def indexRange: Option[Range] = shape.indexRange(tail.offset)

  /** @throws io.pmeparquet.PmeException if a column's own key is not available, whatever it would open */
  def requireKey(rowGroup: Int, column: Seq[String], counters: ReadCounters): Unit =
    access.requireKey(rowGroup, column, counters)

  /**
   * Those of some columns whose keys the KMS denies to this reader in any row group.
   *
   * @throws io.pmeparquet.PmeException if a key is not available for another reason
   */
  def refused(columns: Seq[Seq[String]], counters: ReadCounters): Seq[RefusedColumn] =
    access.refused(columns, counters)

  /** Those of some columns that have keys of their own in any row group. It uses no key. */
  def withOwnKey(columns: Seq[Seq[String]]): Seq[Seq[String]] = access.withOwnKey(columns)

  /** Columns that deviate from the scope's policy, and why they are refused. It uses no key. */
  def deviations(scope: ReadScope): Seq[(FileColumn, PmeException)] = access.deviations(scope)

  /** What protects the chunks of each leaf column: more than one entry for a column if row groups differ. */
  def protections: Seq[(Seq[String], ColumnProtection)] = access.protections

  /** The id of the master key of a chunk's own key; none if it has no key of its own. */
  def masterKeyOf(rowGroup: Int, chunk: Chunk): Option[String] = access.masterKeyOf(rowGroup, chunk)
}
