package io.pmeparquet.orc

import java.util.Locale

import io.pmeparquet.orc.tail.OrcTail
import io.pmeparquet.PmeErrors

/**
 * Files of transactional tables of Hive (ACID). The rows of such a table come from several files together: a base, what was
 * added and what was deleted since then. Whoever reads one of them gets rows that were deleted, or not all of them.
 */
object AcidFiles {

  /** What Hive stores for each row, in place of the table's columns. */
  private val Columns =
    Seq("operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row")
      .map(_.toLowerCase(Locale.ROOT))

  private val Directory = "(delete_delta|delta|base)_[0-9]+(_[0-9]+)*(_v[0-9]+)?".r

  /** How Hive names files. Other writers have other names, and may write to a directory `base_2026`. */
  private val File = "(bucket_[0-9]+|[0-9]+_[0-9]+).*".r

  /** Whether Hive names directories of transactions like this. */
  def isDirectory(name: String): Boolean = Directory.pattern.matcher(name).matches()

  /** Whether the content of a file is that of a transaction. */
  def isOne(tail: OrcTail): Boolean =
    tail.types.head.fieldNames.map(_.toLowerCase(Locale.ROOT)) == Columns ||
      tail.userMetadata.keys.exists(_.startsWith("hive.acid"))

  /** @throws io.pmeparquet.PmeException if a file is one by its content, or by its place and name */
  def refuse(tail: OrcTail): Unit = {
    val parent = Option(tail.path.getParent).fold("")(_.getName)
    if (isOne(tail) || (isDirectory(parent) && File.pattern.matcher(tail.path.getName).matches()))
      throw PmeErrors.orcOfTransaction(tail.file)
  }
}
