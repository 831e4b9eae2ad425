package io.pmeparquet.spark.admin

import io.pmeparquet.keys.{Rewrapping, WrappedKey}
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.rotation.{FileNeeds, FileRotation}
import io.pmeparquet.spark.admin.job.FileFailure
import io.pmeparquet.PmeErrors

/**
 * What a rotation does to one file.
 *
 * @param changes the new key for each of its keys; none if the file does not change
 * @param footer whether the rotation writes the new keys into the file's footer
 */
private[admin] final case class RotationPlan(
    file: ListedFile,
    report: FileReport,
    changes: Option[Map[WrappedKey, WrappedKey]],
    footer: Boolean = false
)

private[admin] object RotationPlan {
  type Answers = Map[WrappedKey, Rewrapping.Answer]
  type Change = (ListedFile, Map[WrappedKey, WrappedKey])
}

/**
 * Decides what a rotation does to each file. ''Driver only.''
 *
 * @param logs the logs that record lengths of the table's files
 */
private[admin] final class RotationPlans(
    rotation: FileRotation,
    settings: RotationSettings,
    logs: Seq[TableLog]
) {
  import RotationPlan._

  /** The keys of a file that change, each with its new master key. */
  def targets(needs: FileNeeds.Keys): Seq[(WrappedKey, String)] =
    needs.keys.flatMap(key => rotation.target(key.masterKeyId).map(key -> _))

  /**
   * @param looked the keys of the file, or why it did not open
   * @param answers what the KMS answered for the keys of all files
   */
  def of(file: ListedFile, looked: Either[FileFailure, FileNeeds], answers: Answers): RotationPlan =
    keepingLengths(plan(file, looked, answers))

  private def plan(
      file: ListedFile,
      looked: Either[FileFailure, FileNeeds],
      answers: Answers
  ): RotationPlan =
    looked match {
      case Left(failure) => RotationPlan(file, FileReport.failed(file, failure), None)
      case Right(FileNeeds.Nothing(because)) => RotationPlan(file, FileReport.skipped(file, because), None)
      case Right(needs: FileNeeds.Keys) =>
        val own = targets(needs).map { case (key, _) => key -> answers(key) }
        own.collectFirst { case (_, Left(failed)) => failed } match {
          case Some(failed) => RotationPlan(file, FileReport.failed(file, FileFailure.of(failed)), None)
          case None => changed(file, needs, own.collect { case (key, Right(to)) => key -> to }.toMap)
        }
    }

  /** @param changes the new key for each key; the same key if it is already as it must be */
  private def changed(
      file: ListedFile,
      needs: FileNeeds.Keys,
      changes: Map[WrappedKey, WrappedKey]
  ): RotationPlan = {
    val rewrapped = changes.count { case (from, to) => from != to }
    val isChanged = rewrapped > 0 || needs.more
    val left = needs.keys.map(_.masterKeyId).filter { id =>
      rotation.target(id).isEmpty && !settings.masterKeys.exists(_.values.exists(_ == id))
    }
    val report = FileReport(
      file.path,
      if (isChanged) FileReport.Rotated else FileReport.Unchanged,
      needs.keys.map(key => changes.getOrElse(key, key).masterKeyId).distinct.sorted,
      rewrapped,
      left.distinct.sorted,
      Some(if (isChanged) settings.keyMaterial.getOrElse(needs.material) else needs.material)
    )
    val footer = needs.material != FileRotation.External || report.material != Some(needs.material)
    RotationPlan(file, report, if (isChanged) Some(changes) else None, footer)
  }

  /** A new footer has another length. Readers that take lengths from a log would no longer find it. */
  private def keepingLengths(plan: RotationPlan): RotationPlan =
    logs.find(log => plan.changes.isDefined && plan.footer && log.keeps(plan.file)).fold(plan) { log =>
      val failed = PmeErrors.unsupported(
        plan.file.path,
        "rewriting its footer",
        s"${log.path} records the lengths of this table's files",
        log.remedy("Rotate a copy of the table.")
      )
      RotationPlan(plan.file, FileReport.failed(plan.file, FileFailure.of(failed)), None)
    }
}
