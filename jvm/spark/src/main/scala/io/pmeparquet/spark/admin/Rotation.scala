package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

import io.pmeparquet.parquet.rotation.FileRotation
import io.pmeparquet.spark.admin.job.Progress
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeErrors

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

/**
 * @param newKms options of the KMS that keys go to; none: the one they are in
 * @param masterKeys the new master key of each; keys under others are left. None: each keeps its master key, and goes under
 *   its newest version
 * @param keyMaterial `internal` or `external`; none: where it is
 * @param dryRun writes nothing, and has the KMS wrap nothing
 * @param allowUnused whether `masterKeys` may name some that no key is under
 */
final case class RotationSettings(
    newKms: Option[Map[String, String]] = None,
    masterKeys: Option[Map[String, String]] = None,
    keyMaterial: Option[String] = None,
    dryRun: Boolean = false,
    allowUnused: Boolean = false
) {
  private[admin] def check(): Unit = {
    keyMaterial.filterNot(Set(FileRotation.Internal, FileRotation.External)).foreach { other =>
      throw PmeErrors.badOption("key_material", other, "internal or external")
    }
    // A run that was ended is run again, and what it had done must be told from what it had not.
    masterKeys.foreach(_.foreach { case (from, to) =>
      masterKeys.flatMap(_.get(to)).filter(_ => from != to).foreach { further =>
        throw PmeErrors.contradiction(
          "master_keys",
          s"it maps '$from' to '$to', and '$to' to '$further'",
          "Rotate them in two runs."
        )
      }
    })
  }
}
