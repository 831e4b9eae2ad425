package io.pmeparquet.spark.admin.seal

import scala.collection.JavaConverters._

import org.apache.spark.sql.types.{LongType, StringType}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.snapshot.{Expiry, Version}
import io.pmeparquet.spark.admin.job.{Progress, ResultRows, TableFiles}
import io.pmeparquet.spark.options.{ResolvedOptions, SnapshotResolver}
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.SessionSnapshots
import io.pmeparquet.PmeErrors

/**
 * The versions of a sealed table: `pme_snapshots` in SQL. It also deletes old ones: `pme.expire_snapshots`, and in Scala
 * {{{
 *   SnapshotVersions.expire(spark, "s3a://…/table", Map("kms" -> "vault"), keep = 10)
 * }}}
 * ''Driver only.''
 */
object SnapshotVersions {

  /**
   * @param options those of a read
   * @param keep how many of the newest versions stay, at least 1
   * @throws io.pmeparquet.PmeException if the table has no snapshot, or a version that stays is not verified
   */
  def expire(session: SparkSession, path: String, options: Map[String, String], keep: Int): ExpiredSnapshots =
    PmeSparkException.translated {
      if (keep < 1)
        throw PmeErrors.badArgument(
          "expire_snapshots",
          "keep",
          s"it is $keep",
          "Give a number of versions, at least 1."
        )
      val conf = SparkAccess.hadoopConf(session, options)
      val resolved = new SnapshotResolver(ResolvedOptions.ofFrame(session, options))
      val table = TableFiles.qualified(path, conf)
      SealedGuard.requireTable(table, conf)
      val snapshots = resolved.ownSnapshots(resolved.directory(table))
      SealedGuard.requireNewest(session, snapshots)
      val expired = new Expiry(snapshots).run(keep, System.currentTimeMillis)
      new ExpiredSnapshots(expired.versions, expired.parts)
    }

  /** For Python. */
  def expire(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      keep: Int
  ): ExpiredSnapshots = Progress.unwatching(expire(session, path, options.asScala.toMap, keep))

  /** All versions with verified seals, the newest first; none for a table that is not sealed, unless the options require it. */
  private[admin] def all(session: SparkSession, path: String, options: Map[String, String]): Seq[Version] = {
    val conf = SparkAccess.hadoopConf(session, options)
    val resolved = new SnapshotResolver(ResolvedOptions.ofFrame(session, options))
    val table = TableFiles.qualified(path, conf)
    SealedGuard.requireTable(table, conf)
    val directory = resolved.directory(table)
    val reader = resolved.snapshots(directory)
    val versions = reader.all()
    val seen = SessionSnapshots.of(session).seen
    versions.headOption.fold(seen.requireNone(directory))(
      seen.note(directory, _, reader.requireOwnHistory)(reader.continues)
    )
    versions
  }

  private[admin] val results: ResultRows[Version] = ResultRows
    .of[Version]
    .required("version", LongType)(_.number)
    .required("digest", StringType)(_.digest)
    .required("created", StringType)(_.manifest.created)
    .required("creator", StringType)(_.manifest.creator)
    .required("files", LongType)(_.manifest.files)
    .required("rows", LongType)(_.manifest.rows)
    .required("bytes", LongType)(_.manifest.bytes)
    .required("algorithm", StringType)(_.algorithm)
    .required("key", StringType)(_.key)
}

/**
 * What was deleted.
 *
 * @param versions how many versions
 * @param parts how many parts of lists of files
 */
final class ExpiredSnapshots(val versions: Int, val parts: Int)
