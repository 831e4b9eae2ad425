package io.pmeparquet.spark.admin

import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.spark.admin.job.{Progress, ProgressStep}

/** The progress of a rotation. Each step counts all files, though the rotation takes them in parts. ''Driver only.'' */
private[admin] final class RotationSteps(session: SparkSession, files: Seq[ListedFile]) {
  val reading: ProgressStep = Progress.step(session, "reading keys", files.size)
  private val write = Progress.step(session, "writing keys", files.size, files.map(_.length).sum)

  /** Begins to write the changed ones of these files. The others count as done. */
  def writing(files: Seq[ListedFile], changes: Seq[RotationPlan.Change]): ProgressStep = {
    val changed = changes.map(_._1)
    val others = files.diff(changed)
    write.begin()
    write.count(others.size, others.map(_.length).sum)
    write
  }
}
