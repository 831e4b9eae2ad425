package io.pmeparquet.parquet.inspect

/**
 * What one master key protects in one file, or what has no key. ''Crosses the wire''.
 *
 * @param masterKeyId none if the file names no key
 * @param version of the master key, if its KMS writes the version into wrapped keys
 * @param kind `footer`, `column`, `plaintext column` (without a key in an encrypted file) or `plaintext` (the whole
 *   file)
 * @param wrapping `double`, `single`, or `direct`
 * @param bytes of its columns' chunks; none if a missing key hides them
 * @param unreadable columns that nobody can read without it: without a footer's key, no column
 * @param problem the condition that limits what is known
 * @param opensFile whether the file does not open at all without it
 * @param dataKeyBits the length of the data key, if its wrapped form shows it
 * @param kekBits the same for the key-encryption key
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
 * What a file's footer shows of its keys and columns. ''Crosses the wire''.
 *
 * @param columns the protection of each; none if the footer does not open
 */
final case class FileUse(uses: List[KeyUse], isEncrypted: Boolean, columns: Option[List[FoundProtection]])
