package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

import io.pmeparquet.spark.admin.job.Progress
import io.pmeparquet.spark.session.PmeSparkException

/**
 * Wraps the keys of a table anew: under other master keys, new versions of them, or another KMS. Pages are not touched.
 * {{{
 * Rotation.rotate(spark, "s3a://…/table", keys, RotationSettings(masterKeys = Some(Map("2024" -> "2025"))))
 * }}}
 * Executors look which wrapped keys the files have, the driver has each distinct one wrapped anew by the KMS, and
 * executors write them. ''Driver only.''
 */
object Rotation {

  /** @return a row for each file; what failed for one file is told there, and nowhere else */
  def rotate(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      settings: RotationSettings
  ): DataFrame = PmeSparkException.translated {
    session.createDataFrame(rows(session, path, options, settings).asJava, FileReport.schema)
  }

  /** Of [[FileReport]]. */
  private[admin] def rows(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      settings: RotationSettings
  ): Seq[Row] = {
    settings.check()
    new RotationJob(session, options, settings).run(new Path(path)).map(_.row)
  }

  /** As Python calls it; what is null is not given. */
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
