package io.pmeparquet.parquet.inspect

/**
 * What one master key, or none, protects in one file. ''Crosses the wire''.
 *
 * @param masterKeyId none if the file names no key
 * @param version the version of the master key, if its KMS writes it into what it wraps
 * @param kind `footer`, `column`, `plaintext column` (without a key in an encrypted file) or `plaintext` (all of a
 *   file)
 * @param wrapping `double`, `single`, or `direct`
 * @param bytes the size of its columns' chunks; none if the key that would show it is missing
 * @param unreadable columns that cannot be read without it: all of them without the key of an encrypted footer
 * @param problem the condition that keeps this from being complete
 * @param opensFile whether the file does not open at all without it
 * @param dataKeyBits the length of the data key, if that of its wrapped form reveals it
 * @param kekBits likewise, the length of the key encryption key
 */
final case class KeyUse(
    masterKeyId: Option[String],
    version: Option[Int],
    kind: String,
    wrapping: Option[String],
    material: Option[String],
    columns: Seq[String],
    bytes: Option[Long],
    rows: Option[Long],
    unreadable: Seq[String],
    problem: Option[String],
    opensFile: Boolean = false,
    dataKeyBits: Option[Int] = None,
    kekBits: Option[Int] = None
)

object KeyUse {
  val Footer = "footer"
  val Column = "column"
  val Plaintext = "plaintext"
  val PlaintextColumn = "plaintext column"
}

/**
 * What a file's footer states about its keys and columns. ''Crosses the wire''.
 *
 * @param columns the protection of each column; none if the footer does not open
 */
final case class FileUse(uses: List[KeyUse], isEncrypted: Boolean, columns: Option[List[FoundProtection]])
