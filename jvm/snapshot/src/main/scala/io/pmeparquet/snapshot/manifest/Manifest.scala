package io.pmeparquet.snapshot.manifest

import io.pmeparquet.parquet.summary.SummaryKind

/**
 * The content of a manifest: one version of a table (docs/snapshot-format.md).
 *
 * @param version from 1
 * @param previous SHA-256 of the manifest of the version before, in hexadecimal digits; none for version 1
 * @param table a random id, the same in all versions
 * @param location path of the table's directory, without scheme and authority
 * @param created in UTC, as ISO 8601
 * @param partitionColumns from the names of directories
 * @param parts in the order of the paths that they list
 * @param format of the data files
 * @param writes the number of the last write of each series
 * @param erasures the keys that were destroyed, in the order of their erasures
 */
final case class Manifest(
    version: Long,
    previous: Option[String],
    table: String,
    location: String,
    created: String,
    creator: String,
    writer: String,
    policy: TablePolicy,
    partitionColumns: Seq[String],
    files: Long,
    rows: Long,
    bytes: Long,
    parts: Seq[PartEntry],
    indexes: Seq[IndexEntry],
    format: DataFormat = DataFormat.Parquet,
    writes: Map[String, Long] = Map.empty,
    erasures: Seq[ErasedKeys] = Nil
)

/**
 * Keys that were destroyed, so that nobody reads the rows under them any more.
 *
 * @param keys as files name them
 * @param erased when their destruction was proved, in UTC, as ISO 8601
 * @param certificate its path, without scheme and authority
 * @param sha256 of the certificate, in hexadecimal digits
 */
final case class ErasedKeys(keys: Seq[String], erased: String, certificate: String, sha256: String)

/**
 * A part: a list of some data files, and what its indexes say of them.
 *
 * @param list a Parquet file with a row for each data file
 * @param files how many it lists
 * @param first the first path that it lists
 * @param last the last path that it lists
 * @param indexes by the field of each index of the manifest, a Parquet file with as many rows as the list
 */
final case class PartEntry(
    list: FileEntry,
    files: Long,
    first: String,
    last: String,
    indexes: Seq[(String, FileEntry)]
) {

  /** All its files: the list, and those of indexes. */
  def entries: Seq[FileEntry] = list +: indexes.map(_._2)

  /** The names of all its files. */
  def names: Seq[String] = entries.map(_.name)
}

/**
 * A file in the directory of snapshots.
 *
 * @param sha256 in hexadecimal digits
 */
final case class FileEntry(name: String, length: Long, sha256: String)

/**
 * An index: what each data file can contain of one column.
 *
 * @param column path of the leaf column in Parquet
 * @param field by which parts name their file of this index
 * @param columnType the type of the data column in Parquet, as text
 * @param key the master key of the index; none for a table without encryption
 */
final case class IndexEntry(
    kind: SummaryKind,
    column: Seq[String],
    field: String,
    columnType: String,
    key: Option[String]
) {

  /** Whether files of one index serve the other: all but the field is equal. */
  def isLike(other: IndexEntry): Boolean = copy(field = other.field) == other

  /** Column and kind, as users name it. */
  def label: String = s"${kind.name}(${column.mkString(".")})"
}

/**
 * The second line of a manifest.
 *
 * @param key id of the signing key, or of the master key that wraps the key of an HMAC
 * @param wrappedKey the wrapped key of an HMAC
 * @param former where the version before has an HMAC under another master key: an HMAC of this content under that key,
 *   which shows that its holder changed the key
 */
final case class SealLine(
    algorithm: String,
    key: String,
    wrappedKey: Option[String],
    value: Array[Byte],
    former: Option[SealLine] = None
)
