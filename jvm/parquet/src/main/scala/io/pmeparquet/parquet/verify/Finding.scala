package io.pmeparquet.parquet.verify

import io.pmeparquet.PmeException

/**
 * Something wrong with a file: mostly a module that does not open. Without a module it is about all of a column chunk;
 * without a row group, about the column in the whole file. ''Crosses the wire''.
 *
 * @param column as Spark names it
 * @param page its number among the data pages of its column chunk
 * @param module the specification's name of it
 * @param condition of ours, or the name of what storage threw
 */
final case class Finding(
    file: String,
    rowGroup: Option[Int] = None,
    column: Option[String] = None,
    page: Option[Int] = None,
    module: Option[String] = None,
    condition: String = "",
    message: String = ""
) {
  private[verify] def because(failed: PmeException): Finding =
    copy(condition = failed.condition.name, message = failed.problem)
}

/**
 * What was looked at. ''Crosses the wire''.
 *
 * @param modules whose tag was compared, the signature of a readable footer among them
 * @param untaggedPages pages under AES_GCM_CTR_V1: nothing but their length, and their checksum where they have one, tells
 *   of damage
 * @param skippedPages data pages whose header was opened, and that the sample left out
 * @param bytes that were read
 */
final case class Opened(
    files: Long = 0,
    modules: Long = 0,
    untaggedPages: Long = 0,
    skippedPages: Long = 0,
    bytes: Long = 0
) {
  def +(other: Opened): Opened = Opened(
    files + other.files,
    modules + other.modules,
    untaggedPages + other.untaggedPages,
    skippedPages + other.skippedPages,
    bytes + other.bytes
  )
}

/** ''Crosses the wire''. */
final case class Verified(
    findings: Seq[Finding],
    opened: Opened,
    unprotected: Unprotected = Unprotected()
)
