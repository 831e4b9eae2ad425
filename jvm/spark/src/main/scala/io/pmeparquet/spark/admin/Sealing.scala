package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.ColumnKeys
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.snapshot.TableSnapshot
import io.pmeparquet.spark.admin.job.Progress
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.PmeSparkException

/**
 * Seals a table: makes its first snapshot, or the next one. `pme.seal`, and in Scala
 * {{{
 *   Sealing.seal(spark, "s3a://…/table", Map("kms" -> "vault", "signingKey" -> "publisher"))
 * }}}
 * ''Driver only.''
 */
object Sealing {

  /**
   * @param options those of a read, and `signingKey`, `verifyKey`, `snapshotLocation`
   * @param minMax columns with an index of their least and greatest values; none: those of the version before
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_CONFLICT` if another process sealed the table meanwhile
   */
  def seal(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      minMax: Option[Seq[String]] = None
  ): SealedSnapshot = PmeSparkException.translated {
    val columns = minMax.map(_.map(ColumnKeys.parsePattern(_).names.map(_.text)))
    new SealingJob(session, path, options, new ConfResolver(session)).run(columns)
  }

  /** For Python. Null stands for an argument that the user did not give. */
  def seal(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      minMax: java.util.List[String]
  ): SealedSnapshot = Progress.unwatching {
    seal(session, path, options.asScala.toMap, Option(minMax).map(_.asScala.toSeq))
  }
}

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
    val key: String
) {
  def added: Long = changes.added
  def removed: Long = changes.removed
  def replaced: Long = changes.replaced
}

/**
 * How many files a version lists that the version before does not, does not list any more, or lists with other bytes. Who
 * seals blesses them all.
 */
final class SealedChanges(val added: Long, val removed: Long, val replaced: Long)

private[admin] object SealedChanges {
  def of(previous: Option[TableSnapshot], files: Seq[SealedFile]): SealedChanges = {
    val before = previous.fold(Map.empty[String, SealedFile])(_.byPath)
    val kept = files.flatMap(file => before.get(file.path).map(_ -> file))
    val replaced = kept.count { case (old, file) => !java.util.Arrays.equals(old.sha256, file.sha256) }
    new SealedChanges(files.size.toLong - kept.size, before.size.toLong - kept.size, replaced.toLong)
  }
}
