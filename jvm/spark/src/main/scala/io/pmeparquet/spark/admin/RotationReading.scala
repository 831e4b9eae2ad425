package io.pmeparquet.spark.admin

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession

import io.pmeparquet.keys.WrappedKey
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.rotation.{FileNeeds, FileRotation, RotationKeys}
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, ProgressStep}

/** Finds, on executors, which wrapped keys files have. ''Driver only.'' */
private[admin] final class RotationReading(
    session: SparkSession,
    conf: Configuration,
    keys: RotationKeys,
    rotation: FileRotation
) {
  import RotationReading._

  def look(files: Seq[ListedFile], step: ProgressStep): Looked = {
    val looking = rotation
    step.begin()
    if (files.size > 1 && keys.takesBatches) prepare(files)
    FileJob.each(session, conf, files)((file, conf) => step.counting(0)(looking.look(file, conf)))
  }

  /**
   * Asks the KMS to unwrap in batches the keys that tasks would otherwise ask for one by one. Column keys come second,
   * because they stand in footers. If all footers have the same key, this does not look for column keys: one write job
   * has only one key for each master key.
   */
  private def prepare(files: Seq[ListedFile]): Unit = {
    val looking = rotation
    val footers = found(FileJob.each(session, conf, files)((file, conf) => looking.footerKey(file, conf)))
    if (footers.size > 1) {
      keys.prepare(footers)
      keys.prepare(found(FileJob.each(session, conf, files)((file, conf) => looking.columnKeys(file, conf))))
    }
  }

  /** Ignores failures: the same file fails again in [[look]]. */
  private def found(answers: Seq[(ListedFile, Either[FileFailure, Seq[WrappedKey]])]): Seq[WrappedKey] =
    answers.collect { case (_, Right(some)) => some }.flatten.distinct
}

private[admin] object RotationReading {
  type Looked = Seq[(ListedFile, Either[FileFailure, FileNeeds])]
}
