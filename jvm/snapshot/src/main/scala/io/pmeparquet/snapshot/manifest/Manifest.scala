package io.pmeparquet.snapshot.manifest

/**
 * The content of a manifest: one version of a table (docs/snapshots.md, "Format").
 *
 * @param version from 1
 * @param previous SHA-256 of the manifest of the version before, in hexadecimal digits; none for version 1
 * @param table a random id, the same in all versions
 * @param location path of the table's directory, without scheme and authority
 * @param created in UTC, as ISO 8601
 * @param partitionColumns from the names of directories
 * @param parts in the order of the paths that they list
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
    indexes: Seq[IndexEntry]
)

/**
 * What protects the columns of all files.
 *
 * @param footerKey the master key of footers; none if the files are not encrypted
 * @param columns the master key of each leaf column, by its path in Parquet; none for a plaintext column
 */
final case class TablePolicy(footerKey: Option[String], columns: Seq[(Seq[String], Option[String])])

/**
 * A part: a Parquet file with a row for each of some data files.
 *
 * @param sha256 of the part, in hexadecimal digits
 * @param first the first path that it lists
 * @param last the last path that it lists
 */
final case class PartEntry(
    name: String,
    length: Long,
    sha256: String,
    files: Long,
    first: String,
    last: String
)

/**
 * An index: a group of columns in the parts.
 *
 * @param column path of the leaf column in Parquet
 * @param field name of the group
 * @param columnType the type of the data column in Parquet, as text
 */
final case class IndexEntry(column: Seq[String], field: String, columnType: String)

object IndexEntry {

  /** The only kind of this version. */
  val MinMax = "minMax"
}

/**
 * The second line of a manifest.
 *
 * @param key id of the signing key, or of the master key that wraps the key of an HMAC
 * @param wrappedKey the wrapped key of an HMAC
 */
final case class SealLine(algorithm: String, key: String, wrappedKey: Option[String], value: Array[Byte])
