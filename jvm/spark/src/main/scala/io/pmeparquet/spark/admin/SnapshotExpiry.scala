package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.spark.sql.SparkSession

import io.pmeparquet.snapshot.Expiry
import io.pmeparquet.spark.admin.job.Progress
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Deletes old versions of a sealed table. `pme.expire_snapshots`, and in Scala
 * {{{
 *   SnapshotExpiry.expire(spark, "s3a://…/table", Map("kms" -> "vault"), keep = 10)
 * }}}
 * ''Driver only.''
 */
object SnapshotExpiry {

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
      val resolved = new ConfResolver(session).snapshots(options)
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
}

/**
 * What was deleted.
 *
 * @param versions how many versions
 * @param parts how many parts of lists of files
 */
final class ExpiredSnapshots(val versions: Int, val parts: Int)
