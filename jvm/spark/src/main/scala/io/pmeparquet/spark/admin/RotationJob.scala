package io.pmeparquet.spark.admin

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.keys.{Rewrapping, WrappedKey}
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.rotation.{FileNeeds, FileRotation, RotationKeys, RotationMark}
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, Progress, ProgressStep}
import io.pmeparquet.spark.keys.DriverRoute
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.PmeErrors

/** One rotation. ''Driver only'': of it, [[FileRotation]] goes to executors. */
private[admin] final class RotationJob(
    session: SparkSession,
    options: Map[String, String],
    settings: RotationSettings
) {
  import RotationJob._

  private val conf: Configuration = SparkAccess.hadoopConf(session, options)
  private val resolver = new ConfResolver(session)
  private val before = resolver.kms(options)
  private val after = settings.newKms.map(resolver.kms)
  DriverRoute.warnWhereReadable(session)
  private val keys = RotationKeys.open(before, after, resolver.readSettings(options), DriverRoute.open())

  private val target = after.getOrElse(before)

  private val rotation = {
    // Of a move, a key that already has its new name may be in either KMS.
    val masterKeys = settings.masterKeys.map { names =>
      if (after.isDefined) names.values.map(name => name -> name).toMap ++ names else names
    }
    new FileRotation(
      keys.scope,
      masterKeys,
      settings.keyMaterial.map(_ == FileRotation.External),
      (before.instanceId -> before.instanceUrl, target.instanceId -> target.instanceUrl)
    )
  }

  /** Whether tasks may be writing: those of a job that failed may not have ended yet. */
  private var writing = false

  def run(path: Path): Seq[FileReport] = {
    val own = TableFiles.qualified(path.toString, conf)
    // A dry run fails where the run would.
    def list() = {
      val found = TableFiles.list(path, conf)
      TableFiles.requireNoLinks(own, found, conf)
      found
    }
    if (settings.dryRun) rotate(path, list())
    else {
      val mark = RotationMark.place(TableFiles.tableOf(path, conf), aim, conf)
      try {
        val found = list()
        TableMarks.requireNoOther(own, found, mark.path, conf)
        rotate(path, found)
      } finally if (!writing) mark.remove()
    }
  }

  private def aim = {
    val names = settings.masterKeys.map(_.toSeq.sorted)
    (names, settings.keyMaterial, after.isDefined, target.instanceId, target.instanceUrl).toString
  }

  private def rotate(path: Path, found: TableFiles): Seq[FileReport] = {
    val logs = TableFiles.logs(path, found, conf)
    if (!settings.dryRun)
      found.leftovers.foreach(leftover => leftover.getFileSystem(conf).delete(leftover, false))
    val steps = new RotationSteps(session, found.files)
    val parts = found.files.sortBy(_.path).grouped(AtOnce).toList
    parts match {
      case Nil | List(_) =>
        val looked = parts.headOption.fold(Nil: Looked)(look(_, steps.reading))
        requireMet(path, Met.of(looked))
        part(looked, logs, steps, isFirst = true)
      case many =>
        if (settings.masterKeys.exists(_.nonEmpty)) lookAhead(path, many)
        many.zipWithIndex.flatMap { case (files, index) =>
          part(look(files, steps.reading), logs, steps, isFirst = index == 0)
        }
    }
  }

  /** What names ask for, among files too many to keep what was found: before the first is changed. */
  private def lookAhead(path: Path, parts: Seq[Seq[ListedFile]]): Unit = {
    val step = Progress.step(session, "looking for master keys", parts.map(_.size).sum)
    val met = parts.map(files => Met.of(look(files, step))).reduce(_ and _)
    requireMet(path, met)
    if (!settings.dryRun)
      met.names.toSeq.flatMap(rotation.target).distinct.foreach(keys.tryOut(_, "rotation"))
  }

  /**
   * A name that stands for nothing is a mistake, and one file that does not open, which anybody may have put there, must
   * not hide it. Where no file opened, their failures say more than what was not met.
   */
  private def requireMet(path: Path, found: Met): Unit = {
    val unused = settings.masterKeys.fold(Seq.empty[String])(_.keys.toSeq).filterNot(found.names).sorted
    val failed = found.failed.headOption.map(first => found.failed.size -> first.message)
    if (unused.nonEmpty && !settings.allowUnused && (failed.isEmpty || found.opened))
      throw PmeErrors.unusedMasterKeys(path.toString, unused, found.names.toSeq.sorted, failed)
  }

  private def look(files: Seq[ListedFile], step: ProgressStep): Looked = {
    val looking = rotation
    step.begin()
    if (files.size > 1 && keys.takesBatches) prepare(files)
    FileJob.each(session, conf, files)((file, conf) => step.counting(0)(looking.look(file, conf)))
  }

  /** @param isFirst whether no file was changed yet */
  private def part(
      looked: Looked,
      logs: Seq[TableLog],
      steps: RotationSteps,
      isFirst: Boolean
  ): Seq[FileReport] = {
    val files = looked.map(_._1)
    val wanted = looked.collect { case (_, Right(needs: FileNeeds.Keys)) => targets(needs) }.flatten.distinct
    val answers = if (settings.dryRun) keys.foresee(wanted) else keys.rewrap(wanted, "rotation")
    if (isFirst) requireServed(wanted, answers)
    val plans = looked.map { case (file, needs) => keepingLengths(plan(file, needs, answers), logs) }
    val changes = plans.collect { case Plan(file, _, Some(changes), _) => file -> changes }
    val failures =
      if (settings.dryRun) Map.empty[ListedFile, FileFailure]
      else write(changes, steps.writing(files, changes))
    plans.map(one => failures.get(one.file).fold(one.report)(FileReport.failed(one.file, _)))
  }

  /** A master key under which nothing goes is no failure of each file: it is told once, and nothing is changed. */
  private def requireServed(wanted: Seq[(WrappedKey, String)], answers: Answers): Unit =
    wanted.groupBy(_._2).toSeq.sortBy(_._1).foreach { case (_, some) =>
      val failures = some.flatMap { case (key, _) => answers(key).left.toOption }
      if (failures.size == some.size) throw failures.head
    }

  /**
   * Has the keys unwrapped together that looking at files would ask for one by one. Those of columns stand in footers, and
   * so come second; not where all footers have one key, since of one write job there is but one for each master key.
   */
  private def prepare(files: Seq[ListedFile]): Unit = {
    val looking = rotation
    val footers = found(FileJob.each(session, conf, files)((file, conf) => looking.footerKey(file, conf)))
    if (footers.size > 1) {
      keys.prepare(footers)
      keys.prepare(found(FileJob.each(session, conf, files)((file, conf) => looking.columnKeys(file, conf))))
    }
  }

  /** What fails here fails again where the file is looked at. */
  private def found(answers: Seq[(ListedFile, Either[FileFailure, Seq[WrappedKey]])]): Seq[WrappedKey] =
    answers.collect { case (_, Right(some)) => some }.flatten.distinct

  private def targets(needs: FileNeeds.Keys): Seq[(WrappedKey, String)] =
    needs.keys.flatMap(key => rotation.target(key.masterKeyId).map(key -> _))

  private def plan(file: ListedFile, looked: Either[FileFailure, FileNeeds], answers: Answers): Plan =
    looked match {
      case Left(failure) => Plan(file, FileReport.failed(file, failure), None)
      case Right(FileNeeds.Nothing(because)) => Plan(file, FileReport.skipped(file, because), None)
      case Right(needs: FileNeeds.Keys) =>
        val own = targets(needs).map { case (key, _) => key -> answers(key) }
        own.collectFirst { case (_, Left(failed)) => failed } match {
          case Some(failed) => Plan(file, FileReport.failed(file, FileFailure.of(failed)), None)
          case None => plan(file, needs, own.collect { case (key, Right(to)) => key -> to }.toMap)
        }
    }

  /** A footer that is written anew has another length, and readers that go by a log would no longer find it. */
  private def keepingLengths(plan: Plan, logs: Seq[TableLog]): Plan =
    logs.find(log => plan.changes.isDefined && plan.footer && log.keeps(plan.file)).fold(plan) { log =>
      val failed = PmeErrors.unsupported(
        plan.file.path,
        "rewriting its footer",
        s"${log.path} records the lengths of this table's files",
        log.remedy("Rotate a copy of the table.")
      )
      Plan(plan.file, FileReport.failed(plan.file, FileFailure.of(failed)), None)
    }

  /** @param changes what keys become; itself, where one is what it is to be */
  private def plan(file: ListedFile, needs: FileNeeds.Keys, changes: Map[WrappedKey, WrappedKey]): Plan = {
    val rewrapped = changes.count { case (from, to) => from != to }
    val changed = rewrapped > 0 || needs.more
    val left = needs.keys.map(_.masterKeyId).filter { id =>
      rotation.target(id).isEmpty && !settings.masterKeys.exists(_.values.exists(_ == id))
    }
    val report = FileReport(
      file.path,
      if (changed) FileReport.Rotated else FileReport.Unchanged,
      needs.keys.map(key => changes.getOrElse(key, key).masterKeyId).distinct.sorted,
      rewrapped,
      left.distinct.sorted,
      Some(if (changed) settings.keyMaterial.getOrElse(needs.material) else needs.material)
    )
    val footer = needs.material != FileRotation.External || report.material != Some(needs.material)
    Plan(file, report, if (changed) Some(changes) else None, footer)
  }

  private def write(changes: Seq[Change], step: ProgressStep): Map[ListedFile, FileFailure] = {
    val changing = rotation
    writing = true
    val done = FileJob.each(session, conf, changes) { case ((file, changes), conf) =>
      step.counting(file.length)(changing.change(file, changes, conf))
    }
    writing = false
    done.collect { case ((file, _), Left(failure)) => file -> failure }.toMap
  }
}

private object RotationJob {
  type Looked = Seq[(ListedFile, Either[FileFailure, FileNeeds])]
  type Answers = Map[WrappedKey, Rewrapping.Answer]
  type Change = (ListedFile, Map[WrappedKey, WrappedKey])

  /**
   * What files told of the master keys that their keys are under.
   *
   * @param opened whether one of them told, be it that it has no keys
   * @param failed of those whose keys are not known
   */
  final case class Met(names: Set[String], opened: Boolean, failed: Seq[FileFailure]) {
    def and(other: Met): Met = Met(names ++ other.names, opened || other.opened, failed ++ other.failed)
  }

  object Met {
    def of(looked: Looked): Met = {
      val told = looked.collect { case (_, Right(needs)) => needs }
      val names = told.collect { case needs: FileNeeds.Keys => needs.met }.flatten.toSet
      Met(names, told.nonEmpty, looked.collect { case (_, Left(failure)) => failure })
    }
  }

  /**
   * What is to become of a file.
   *
   * @param changes to what its keys change; none where nothing is to be done
   * @param footer whether that is to be written into its footer
   */
  final case class Plan(
      file: ListedFile,
      report: FileReport,
      changes: Option[Map[WrappedKey, WrappedKey]],
      footer: Boolean = false
  )

  /** Files that are looked at before the first of them is written: keys of all of them go to the KMS together. */
  val AtOnce = 1000
}

/** What a rotation goes through; each step with all files, some of them at once. */
private final class RotationSteps(session: SparkSession, files: Seq[ListedFile]) {
  val reading: ProgressStep = Progress.step(session, "reading keys", files.size)
  private val write = Progress.step(session, "writing keys", files.size, files.map(_.length).sum)

  /** Begins to write some of the files. The others are done. */
  def writing(files: Seq[ListedFile], changes: Seq[RotationJob.Change]): ProgressStep = {
    val changed = changes.map(_._1)
    val others = files.diff(changed)
    write.begin()
    write.count(others.size, others.map(_.length).sum)
    write
  }
}
