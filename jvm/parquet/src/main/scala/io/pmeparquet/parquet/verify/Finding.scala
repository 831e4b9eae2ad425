package io.pmeparquet.parquet.verify

import io.pmeparquet.PmeException

/**
 * A problem of a file, mostly a module that does not open. Without a module it is about a whole column chunk; without a
 * row group, about the column in the whole file. ''Crosses the wire''.
 *
 * @param column its name in Spark
 * @param page its number among the data pages of its column chunk
 * @param module the specification's name
 * @param condition our condition, or the name of the storage's exception
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
 * What was examined. ''Crosses the wire''.
 *
 * @param modules modules whose tag was compared, including signatures of readable footers
 * @param untaggedPages pages under AES_GCM_CTR_V1: only their length, and their checksum if they have one, shows damage
 * @param skippedPages data pages that the sample left out after opening their header
 * @param bytes number of bytes read
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
