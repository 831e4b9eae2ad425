package io.pmeparquet.parquet.inspect

/**
 * What one master key protects in one file, or what none does. ''Crosses the wire''.
 *
 * @param masterKeyId none where the file names no key
 * @param version of the master key, where its KMS writes it into what it wraps
 * @param kind `footer`, `column`, `plaintext column` (without a key in an encrypted file) or `plaintext` (all of a file)
 * @param wrapping `double`, `single`, or `direct`
 * @param bytes of its columns' chunks; none where a key is missing that would tell
 * @param unreadable columns that cannot be read without it: without a footer's key, none can
 * @param problem the condition for which less is known of it than could be
 * @param opensFile whether the file cannot be opened at all without it
 * @param dataKeyBits the length of the data key, where that of its wrapped form tells
 * @param kekBits the same of the key encryption key
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
 * What a file's footer tells of its keys and columns. ''Crosses the wire''.
 *
 * @param columns what protects each; none where the footer does not open
 */
final case class FileUse(uses: List[KeyUse], isEncrypted: Boolean, columns: Option[List[FoundProtection]])
