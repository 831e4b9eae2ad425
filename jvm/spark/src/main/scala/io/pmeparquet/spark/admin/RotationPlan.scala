package io.pmeparquet.spark.admin

import org.apache.spark.sql.types.{IntegerType, StringType}

import io.pmeparquet.keys.{Rewrapping, WrappedKey}
import io.pmeparquet.parquet.rotation.{FileNeeds, FileRotation}
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.admin.job.{FileFailure, ResultRows, TableLog}
import io.pmeparquet.PmeErrors

/**
 * What a rotation changes.
 *
 * @param newKms the options of the KMS to move keys to; none: keys stay in their KMS
 * @param masterKeys the new master key of each old one; keys under other master keys do not change. None: each key
 *   keeps its master key, and moves to the newest version of it
 * @param keyMaterial `internal` or `external`; none: it stays where it is
 * @param dryRun writes nothing, and asks the KMS to wrap nothing
 * @param allowUnused whether `masterKeys` may name master keys that no key is under
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
    // If a run stops half-way, the user runs it again. With a chain, the second run could not tell which keys the first
    // had already moved.
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

/**
 * What a rotation did to one file.
 *
 * @param masterKeys the master keys that its keys are under now
 * @param rewrapped how many of its distinct keys the rotation rewrapped
 * @param left master keys that the rotation was not asked to replace
 * @param material where its key material is now
 * @param message why the rotation skipped the file, or why it failed
 */
private[admin] final case class FileReport(
    file: String,
    status: String,
    masterKeys: Seq[String] = Nil,
    rewrapped: Int = 0,
    left: Seq[String] = Nil,
    material: Option[String] = None,
    condition: Option[String] = None,
    message: Option[String] = None
)

private[admin] object FileReport {
  val Rotated = "rotated"
  val Unchanged = "unchanged"

  val results: ResultRows[FileReport] = ResultRows
    .of[FileReport]
    .required("file", StringType)(_.file)
    .required("status", StringType)(_.status)
    .required("master_keys", ResultRows.Names)(_.masterKeys)
    .required("rewrapped", IntegerType)(_.rewrapped)
    .required("left", ResultRows.Names)(_.left)
    .optional("material", StringType)(_.material)
    .optional("condition", StringType)(_.condition)
    .optional("message", StringType)(_.message)

  def skipped(file: ListedFile, because: String): FileReport =
    FileReport(file.path, "skipped", message = Some(because))

  def failed(file: ListedFile, failure: FileFailure): FileReport =
    FileReport(file.path, "failed", condition = Some(failure.condition), message = Some(failure.message))
}
