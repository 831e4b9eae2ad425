package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.spark.sql.{Row, SparkSession}

import io.pmeparquet.parquet.summary.{SummaryKind, WantedSummary}
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
   * @param options those of a read, and `signingKey`, `verifyKey`, `snapshotLocation`, `indexKeys`
   * @param indexes what the version has indexes of; none: those of the version before
   * @param expect confirms the files that changed since the version before: how many there are, or that version (its
   *   number, `<table id>:<version>` or digest), or `unsealed` if there is none. Not needed if nothing changed.
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_MISMATCH` if files changed, and `expect` does not confirm it;
   *   `PME_SNAPSHOT_CONFLICT` if another process sealed the table meanwhile
   */
  def seal(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      indexes: Option[Seq[WantedSummary]] = None,
      expect: Option[String] = None
  ): SealedSnapshot = PmeSparkException.translated {
    new SealingJob(session, path, options, new ConfResolver(session)).run(indexes, expect)
  }

  /**
   * Makes the next version without some indexes. No file that the version before lists is opened.
   *
   * @param options as for [[seal]]
   * @param columns whose indexes to drop
   * @param kind only indexes of this kind: `minMax`, `valueList`, `bloom` or `class`
   * @throws io.pmeparquet.PmeException if the table is not sealed, or a column has no such index
   */
  def dropIndexes(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      columns: Seq[String],
      kind: Option[String] = None
  ): SealedSnapshot = PmeSparkException.translated {
    val paths = columns.map(column => IndexRequests.of(column, SummaryKind.MinMax).column)
    new SealingJob(session, path, options, new ConfResolver(session)).dropIndexes(paths, kind)
  }

  /** For Python, with indexes as JSON ([[IndexRequests.parse]]). Null stands for an argument that the user did not give. */
  def seal(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      indexes: java.util.List[String],
      expect: String
  ): SealedSnapshot = Progress.unwatching {
    PmeSparkException.translated {
      seal(
        session,
        path,
        options.asScala.toMap,
        Option(indexes).map(_.asScala.toList.map(IndexRequests.parse)),
        Option(expect)
      )
    }
  }

  /**
   * For Python at a terminal: what a seal would vouch for beyond the version before. The first text confirms it as `expect`,
   * the others name the files; empty if nothing changed.
   */
  def review(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String]
  ): java.util.List[String] = Progress.unwatching {
    PmeSparkException.translated {
      val found =
        new SealingJob(session, path, options.asScala.toMap, new ConfResolver(session)).review(None)
      (if (found.changes == 0) Nil else s"changes:${found.digest}" +: found.named).asJava
    }
  }

  /** For Python. */
  def dropIndexes(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      columns: java.util.List[String],
      kind: String
  ): SealedSnapshot = Progress.unwatching {
    dropIndexes(session, path, options.asScala.toMap, columns.asScala.toSeq, Option(kind))
  }

  /** In SQL: one row with the schema of [[SealedSnapshot]]. */
  private[admin] def rows(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      indexes: Option[Seq[WantedSummary]],
      expect: Option[String]
  ): Seq[Row] = Seq(seal(session, path, options, indexes, expect).row)
}
