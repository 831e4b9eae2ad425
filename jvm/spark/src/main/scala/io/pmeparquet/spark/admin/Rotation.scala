package io.pmeparquet.spark.admin

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.pmeparquet.{Audience, PmeErrors}
import io.pmeparquet.keys.{KeyPurpose, WrappedKey}
import io.pmeparquet.orc.keys.OrcScopes
import io.pmeparquet.orc.OrcRotation
import io.pmeparquet.parquet.rotation.{
  FileNeeds,
  FileRotation,
  ParquetRotation,
  RotatedFooter,
  RotationKeys,
  RotationMark
}
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, Progress, ProgressStep, TableFiles}
import io.pmeparquet.spark.admin.seal.{SealedGuard, SealingJob}
import io.pmeparquet.spark.admin.RotationPlan.{Answers, Change}
import io.pmeparquet.spark.keys.DriverRoute
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}

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

/** One rotation. ''Driver only'': only [[TableRotation]] goes to executors. */
private final class RotationJob(
    session: SparkSession,
    options: Map[String, String],
    settings: RotationSettings
) {
  import RotationJob._

  private val conf: Configuration = SparkAccess.hadoopConf(session, options)
  private val resolved = ResolvedOptions.ofFrame(session, options)
  if (settings.masterKeys.isDefined || settings.newKms.isDefined)
    resolved.requireNoPolicy("rotation", "new master keys or another KMS, which change what a policy names,")
  private val before = resolved.openKms(KeyPurpose.Rotate)
  private val after = settings.newKms.map(ResolvedOptions.ofFrame(session, _).openKms(KeyPurpose.Rotate))
  DriverRoute.warnWhereReadable(session)
  private val keys = RotationKeys.open(before, after, resolved.readSettings, DriverRoute.open())

  private val target = after.getOrElse(before)

  private val rotation = {
    // While keys move to another KMS, a key that already has its new name may be in either KMS.
    val masterKeys = settings.masterKeys.map { names =>
      if (after.isDefined) names.values.map(name => name -> name).toMap ++ names else names
    }
    val external = settings.keyMaterial.map(_ == FileRotation.External)
    val instances = (before.instanceId -> before.instanceUrl, target.instanceId -> target.instanceUrl)
    val ofOrc = OrcScopes.forRotation(keys.source, keys.route, keys.scope.settings.kekLifetimeMillis)
    new TableRotation(
      masterKeys,
      new ParquetRotation(keys.scope, masterKeys, external, instances),
      new OrcRotation(ofOrc, masterKeys, external.contains(true))
    )
  }

  /** The footers that this run has replaced, by the paths of files. */
  private val rotated = mutable.HashMap.empty[String, RotatedFooter]

  /** Whether tasks may be writing: after a job fails, its tasks may still run. */
  private var writing = false

  def run(path: Path): Seq[FileReport] = {
    val sealing = sealingOf(path)
    val own = TableFiles.qualified(path.toString, conf)
    // A dry run makes this check too, so that it fails if the run would.
    def list() = {
      val found = TableFiles.list(path, conf)
      TableFiles.requireNoLinks(own, found, conf)
      found
    }
    val reports =
      if (settings.dryRun) rotate(path, list())
      else {
        val mark = RotationMark.place(TableFiles.tableOf(path, conf), aim, conf)
        try {
          val found = list()
          TableFiles.requireNoOtherMark(own, found.marks, mark.path, conf)
          rotate(path, found)
        } finally if (!writing) mark.remove()
      }
    // If some files were not rotated, readers refuse the table until the rotation has run again. Erased files never are.
    def isDone(job: SealingJob) = reports.forall(one => one.condition.forall(job.isErased(one.file, _)))
    sealing.filter(isDone).foreach(_.sealRotated(rotated.toMap))
    reports
  }

  /** What seals the table again, if it is sealed; its files are those that its newest version lists. None for a dry run. */
  private def sealingOf(path: Path): Option[SealingJob] =
    SealedGuard.sealedTableOf(resolved, path).flatMap { table =>
      val job = new SealingJob(resolved, table.toString)
      job.requireRotatable()
      if (settings.dryRun) None else Some(prepared(job, table, path))
    }

  private def prepared(job: SealingJob, table: Path, path: Path): SealingJob = {
    if (after.isDefined)
      throw PmeErrors.sealedTable(
        "a rotation to another KMS",
        table.toString,
        "Its snapshots are under keys of the KMS before. Rotate within one KMS, or copy the table " +
          s"(${Audience.current.rekey}) and seal the copy."
      )
    // All files of a sealed table have the same keys.
    val isPart = TableFiles.qualified(table.toString, conf) != TableFiles.qualified(path.toString, conf)
    if (settings.masterKeys.isDefined && isPart)
      throw PmeErrors.sealedTable(
        "a rotation of a part of it to other master keys",
        table.toString,
        "Rotate the whole table."
      )
    job.prepareRotation(rotation.target)
    job
  }

  private def aim = RotationMark.aim(
    settings.masterKeys,
    settings.keyMaterial,
    after.isDefined,
    target.instanceId,
    target.instanceUrl
  )

  private def rotate(path: Path, found: TableFiles): Seq[FileReport] = {
    val plans = new RotationPlans(rotation, settings, TableFiles.logs(path, found, conf))
    if (!settings.dryRun)
      found.leftovers.foreach(leftover => leftover.getFileSystem(conf).delete(leftover, false))
    val steps = new RotationSteps(session, found.files)
    val parts = found.files.sortBy(_.path).grouped(AtOnce).toList
    parts match {
      case Nil | List(_) =>
        val looked = parts.headOption.fold(Nil: Looked)(look(_, steps.reading))
        MetMasterKeys.of(looked).requireAll(path, settings)
        part(looked, plans, steps, isFirst = true)
      case many =>
        if (settings.masterKeys.exists(_.nonEmpty)) lookAhead(path, many)
        many.zipWithIndex.flatMap { case (files, index) =>
          part(look(files, steps.reading), plans, steps, isFirst = index == 0)
        }
    }
  }

  /**
   * Checks `masterKeys` before the first file changes. There are too many files to keep what this finds, so each part
   * is looked at again.
   */
  private def lookAhead(path: Path, parts: Seq[Seq[ListedFile]]): Unit = {
    val step = Progress.step(session, "looking for master keys", parts.map(_.size).sum)
    val met = parts.map(files => MetMasterKeys.of(look(files, step))).reduce(_ and _)
    met.requireAll(path, settings)
    if (!settings.dryRun)
      met.names.toSeq.flatMap(rotation.target).distinct.foreach(keys.tryOut(_, "rotation"))
  }

  /**
   * Rotates some of the files.
   *
   * @param isFirst whether no file has changed yet
   */
  private def part(
      looked: Looked,
      plans: RotationPlans,
      steps: RotationSteps,
      isFirst: Boolean
  ): Seq[FileReport] = {
    val files = looked.map(_._1)
    val wanted =
      looked.collect { case (_, Right(needs: FileNeeds.Keys)) => plans.targets(needs) }.flatten.distinct
    val answers = if (settings.dryRun) keys.foresee(wanted) else keys.rewrap(wanted, "rotation")
    if (isFirst) requireServed(wanted, answers)
    val planned = looked.map { case (file, needs) => plans.of(file, needs, answers) }
    val changes = planned.collect { case RotationPlan(file, _, Some(changes), _) => file -> changes }
    val failures =
      if (settings.dryRun) Map.empty[ListedFile, FileFailure]
      else write(changes, steps.writing(files, changes))
    planned.map(one => failures.get(one.file).fold(one.report)(FileReport.failed(one.file, _)))
  }

  /** If the KMS can wrap nothing under a master key, this fails once, not for each file, and no file changes. */
  private def requireServed(wanted: Seq[(WrappedKey, String)], answers: Answers): Unit =
    wanted.groupBy(_._2).toSeq.sortBy(_._1).foreach { case (_, some) =>
      val failures = some.flatMap { case (key, _) => answers(key).left.toOption }
      if (failures.size == some.size) throw failures.head
    }

  /** Finds, on executors, which wrapped keys files have. */
  private def look(files: Seq[ListedFile], step: ProgressStep): Looked = {
    val looking = rotation
    step.begin()
    if (files.size > 1 && keys.takesBatches) prepare(files)
    FileJob.each(session, conf, files)((file, conf) => step.counting(0)(looking.look(file, conf)))
  }

  /**
   * Asks the KMS to unwrap in batches the keys that tasks would otherwise ask for one by one. Column keys come second,
   * because footers have them. If all footers have the same key, this does not look for column keys: one write job
   * has only one key for each master key.
   */
  private def prepare(files: Seq[ListedFile]): Unit = {
    val looking = rotation
    val footers = found(FileJob.each(session, conf, files)((file, conf) => looking.firstKeys(file, conf)))
    if (footers.size > 1) {
      keys.prepare(footers)
      keys.prepare(found(FileJob.each(session, conf, files)((file, conf) => looking.furtherKeys(file, conf))))
    }
  }

  /** Ignores failures: the same file fails again in [[look]]. */
  private def found(answers: Seq[(ListedFile, Either[FileFailure, Seq[WrappedKey]])]): Seq[WrappedKey] =
    answers.collect { case (_, Right(some)) => some }.flatten.distinct

  private def write(changes: Seq[Change], step: ProgressStep): Map[ListedFile, FileFailure] = {
    val changing = rotation
    writing = true
    val done = FileJob.each(session, conf, changes) { case ((file, changes), conf) =>
      step.counting(file.length)(changing.change(file, changes, conf))
    }
    writing = false
    done.foreach {
      case ((file, _), Right(footer)) => footer.foreach(rotated.put(file.path, _))
      case _ => ()
    }
    done.collect { case ((file, _), Left(failure)) => file -> failure }.toMap
  }
}

private object RotationJob {
  type Looked = Seq[(ListedFile, Either[FileFailure, FileNeeds])]

  /** Keys of this many files go to the KMS together, before the rotation writes the first of these files. */
  private val AtOnce = 1000
}

/**
 * The master keys that a rotation found in files.
 *
 * @param names the master keys that the files' keys are under
 * @param opened whether at least one file opened, with keys or without
 * @param failed why files did not open, so that their master keys are not known
 */
private final case class MetMasterKeys(names: Set[String], opened: Boolean, failed: Seq[FileFailure]) {
  def and(other: MetMasterKeys): MetMasterKeys =
    MetMasterKeys(names ++ other.names, opened || other.opened, failed ++ other.failed)

  /**
   * Fails if `masterKeys` names a master key that no file uses: that is a mistake. A file that does not open must not
   * hide the mistake, because anybody may have put it there. If no file opened, the files' own failures say more, so
   * this does not fail.
   */
  def requireAll(path: Path, settings: RotationSettings): Unit = {
    val unused = settings.masterKeys.fold(Seq.empty[String])(_.keys.toSeq).filterNot(names).sorted
    val failures = failed.headOption.map(first => failed.size -> first.message)
    if (unused.nonEmpty && !settings.allowUnused && (failures.isEmpty || opened))
      throw PmeErrors.unusedMasterKeys(path.toString, unused, names.toSeq.sorted, failures)
  }
}

private object MetMasterKeys {
  def of(looked: RotationJob.Looked): MetMasterKeys = {
    val opened = looked.collect { case (_, Right(needs)) => needs }
    val names = opened.collect { case needs: FileNeeds.Keys => needs.met }.flatten.toSet
    MetMasterKeys(names, opened.nonEmpty, looked.collect { case (_, Left(failure)) => failure })
  }
}

/** The progress of a rotation. Each step counts all files, though the rotation takes them in parts. */
private final class RotationSteps(session: SparkSession, files: Seq[ListedFile]) {
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
