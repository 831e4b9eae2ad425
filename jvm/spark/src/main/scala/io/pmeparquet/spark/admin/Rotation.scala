package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.pmeparquet.spark.admin.job.Progress
import io.pmeparquet.spark.session.PmeSparkException

/**
 * Rewraps the keys of a table: under other master keys, new versions of them, or another KMS. Pages do not change.
 * {{{
 * Rotation.rotate(spark, "s3a://…/table", keys, RotationSettings(masterKeys = Some(Map("2024" -> "2025"))))
 * }}}
 * Executors find which wrapped keys the files have, the driver asks the KMS to rewrap each distinct key, and executors
 * write the new ones. ''Driver only.''
 */
object Rotation {

  /** @return a row for each file; only this row reports the failure of one file */
  def rotate(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      settings: RotationSettings
  ): DataFrame = PmeSparkException.translated {
    FileReport.results.frame(session, reports(session, path, options, settings))
  }

  private[admin] def reports(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      settings: RotationSettings
  ): Seq[FileReport] = {
    settings.check()
    new RotationJob(session, options, settings).run(new Path(path))
  }

  /** For Python. Null stands for an argument that the user did not give. */
  def rotate(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      newKms: java.util.Map[String, String],
      masterKeys: java.util.Map[String, String],
      keyMaterial: String,
      dryRun: Boolean,
      allowUnused: Boolean
  ): DataFrame = Progress.unwatching {
    def optional(map: java.util.Map[String, String]) = Option(map).map(_.asScala.toMap)
    val settings =
      RotationSettings(optional(newKms), optional(masterKeys), Option(keyMaterial), dryRun, allowUnused)
    rotate(session, path, options.asScala.toMap, settings)
  }
}
