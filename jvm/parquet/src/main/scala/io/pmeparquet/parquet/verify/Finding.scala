package io.pmeparquet.parquet.verify

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.PmeException

/**
 * Something wrong with a file, usually a module that does not open. Without a module, it is about a whole column chunk;
 * without a row group, about the column in the whole file. ''Crosses the wire''.
 *
 * @param column its name in Spark
 * @param page its number among the data pages of its column chunk
 * @param module the specification's name of it
 * @param condition a condition of ours, or the class name of the storage's exception
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

  /** The same finding, about a whole column chunk. */
  private[verify] def inChunk(group: Int, chunk: Chunk): Finding =
    copy(rowGroup = Some(group), column = Some(chunk.display))

  /** The same finding, about one module of a column chunk. */
  private[verify] def inModule(group: Int, chunk: Chunk, kind: ModuleKind): Finding =
    inChunk(group, chunk).copy(module = Some(kind.name))

  private[verify] def because(failed: PmeException): Finding =
    copy(condition = failed.condition.name, message = failed.problem)
}

/**
 * Counts what a verification opened. ''Crosses the wire''.
 *
 * @param modules modules with a verified tag, including the signature of a readable footer
 * @param untaggedPages pages under AES_GCM_CTR_V1: only their length, and their checksum if they have one, shows damage
 * @param skippedPages data pages that the sample omits; only their headers are opened
 * @param bytes the number of bytes read
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
