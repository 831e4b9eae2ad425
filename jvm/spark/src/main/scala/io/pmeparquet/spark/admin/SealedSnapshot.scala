package io.pmeparquet.spark.admin

import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType}
import org.apache.spark.sql.Row

import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.snapshot.TableSnapshot

/**
 * The version that a seal made.
 *
 * @param digest SHA-256 of its manifest, in hexadecimal digits
 * @param location the directory of the snapshots
 * @param bytes of all files
 * @param opened how many files were opened; the version before knew the others
 * @param changes against the version before
 * @param algorithm of its seal
 * @param key id of the signing key, or of the master key of an HMAC
 * @param table the id that all versions of the table have
 */
final class SealedSnapshot(
    val version: Long,
    val digest: String,
    val location: String,
    val files: Long,
    val rows: Long,
    val bytes: Long,
    val opened: Long,
    changes: SealedChanges,
    val algorithm: String,
    val key: String,
    val table: String
) {
  def added: Long = changes.added
  def removed: Long = changes.removed
  def replaced: Long = changes.replaced

  private[admin] def row: Row =
    Row(
      version,
      digest,
      location,
      files,
      rows,
      bytes,
      added,
      removed,
      replaced,
      opened,
      algorithm,
      key,
      table
    )
}

private[admin] object SealedSnapshot {
  val schema: StructType = StructType(
    Seq(
      StructField("version", LongType, nullable = false),
      StructField("digest", StringType, nullable = false),
      StructField("location", StringType, nullable = false),
      StructField("files", LongType, nullable = false),
      StructField("rows", LongType, nullable = false),
      StructField("bytes", LongType, nullable = false),
      StructField("added", LongType, nullable = false),
      StructField("removed", LongType, nullable = false),
      StructField("replaced", LongType, nullable = false),
      StructField("opened", LongType, nullable = false),
      StructField("algorithm", StringType, nullable = false),
      StructField("key", StringType, nullable = false),
      StructField("table", StringType, nullable = false)
    )
  )
}

/**
 * How many files a version lists that the version before does not, does not list any more, or lists with other bytes. Who
 * seals a table vouches for all of them.
 */
private[admin] final class SealedChanges(val added: Long, val removed: Long, val replaced: Long)

private[admin] object SealedChanges {
  def of(previous: Option[TableSnapshot], files: Seq[SealedFile]): SealedChanges = {
    val before = previous.fold(Map.empty[String, SealedFile])(_.byPath)
    val kept = files.flatMap(file => before.get(file.path).map(_ -> file))
    val replaced = kept.count { case (old, file) => !java.util.Arrays.equals(old.sha256, file.sha256) }
    new SealedChanges(files.size.toLong - kept.size, before.size.toLong - kept.size, replaced.toLong)
  }
}
