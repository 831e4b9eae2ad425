package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.spark.sql.{Row, SparkSession}

import io.pmeparquet.columns.ColumnKeys
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
    val columns = minMax.map(_.map(columnPath))
    new SealingJob(session, path, options, new ConfResolver(session)).run(columns)
  }

  /**
   * Makes the next version without some indexes. No file that the version before lists is opened.
   *
   * @param options as for [[seal]]
   * @param columns whose indexes to drop
   * @throws io.pmeparquet.PmeException if the table is not sealed, or a column has no index
   */
  def dropIndexes(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      columns: Seq[String]
  ): SealedSnapshot = PmeSparkException.translated {
    new SealingJob(session, path, options, new ConfResolver(session)).dropIndexes(columns.map(columnPath))
  }

  private def columnPath(name: String): Seq[String] = ColumnKeys.parsePattern(name).names.map(_.text)

  /** For Python. Null stands for an argument that the user did not give. */
  def seal(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      minMax: java.util.List[String]
  ): SealedSnapshot = Progress.unwatching {
    seal(session, path, options.asScala.toMap, Option(minMax).map(_.asScala.toSeq))
  }

  /** For Python. */
  def dropIndexes(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      columns: java.util.List[String]
  ): SealedSnapshot = Progress.unwatching {
    dropIndexes(session, path, options.asScala.toMap, columns.asScala.toSeq)
  }

  /** In SQL: one row with the schema of [[SealedSnapshot]]. */
  private[admin] def rows(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      minMax: Option[Seq[String]]
  ): Seq[Row] = Seq(seal(session, path, options, minMax).row)
}
