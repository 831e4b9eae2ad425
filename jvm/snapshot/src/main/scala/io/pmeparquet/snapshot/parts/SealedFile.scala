package io.pmeparquet.snapshot.parts

/**
 * A data file of a table, as a snapshot lists it: a row of a part.
 *
 * @param path relative to the table's directory
 * @param length in bytes
 * @param modified when it was last modified, in milliseconds since 1970: whoever seals next opens only other files
 * @param footerSha256 of its footer, with length and magic
 * @param aadFileUnique none for a file without encryption
 * @param sha256 of the whole file
 * @param partition values of partition columns, from the names of directories; none for null
 */
final case class SealedFile(
    path: String,
    length: Long,
    modified: Long,
    footerSha256: Array[Byte],
    aadFileUnique: Option[Array[Byte]],
    sha256: Array[Byte],
    rows: Long,
    partition: Seq[(String, Option[String])]
)
