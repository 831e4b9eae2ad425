package io.pmeparquet.spark.admin.doctor

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.internal.StaticSQLConf
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.parquet.scope.KeyCalls
import io.pmeparquet.parquet.standalone.LogTrial
import io.pmeparquet.spark.admin.job.FileJob
import io.pmeparquet.spark.keys.SessionKeys
import io.pmeparquet.spark.session.{FormatName, GuardSetting, SparkAccess}

/** What a session with Delta does with keys. Without Delta, there are no checks. ''Driver only.'' */
private[admin] object DeltaChecks {

  def all(session: SparkSession): Seq[Check] = Check.attempt("Delta") {
    if (!hasDelta(session)) Nil
    else {
      val factory =
        SparkAccess.valueOf(session, Map.empty, FormatName.CryptoFactorySetting).filter(_.nonEmpty)
      val ours = factory.contains(FormatName.CryptoFactoryClass)
      val extensions = session.sparkContext.getConf.get(StaticSQLConf.SPARK_SESSION_EXTENSIONS.key, "")
      val hasRules = extensions.split(',').map(_.trim).contains(FormatName.ExtensionsClass)
      Seq(ofFactory(factory, hasRules)) ++
        (if (factory.isEmpty) Nil
         else Seq(ofExtensions(hasRules), ofGuard(GuardSetting.isSet(session.sparkContext.getConf)))) ++
        ofPredicates(SparkAccess.sqlConf(session).getAllConfs) ++
        (if (ours) new FactoryTrial(session, hasRules).checks else Nil)
    }
  }

  def ofFactory(factory: Option[String], hasRules: Boolean): Check = factory match {
    case Some(FormatName.CryptoFactoryClass) => Check.ok(FactoryName, "PmeCryptoFactory")
    case None =>
      val keyed =
        if (hasRules) "PmeExtensions refuses writes to tables with keys"
        else "also those whose properties name keys"
      val remedy =
        s"To encrypt Delta tables, set spark.hadoop.${FormatName.CryptoFactorySetting}=${FormatName.CryptoFactoryClass} and a KMS, as " +
          "docs/delta.md says."
      Check.warning(FactoryName, s"none: the session writes Delta tables in plaintext; $keyed", remedy)
    case Some(other) =>
      val found =
        if (hasRules) s"$other: PmeExtensions refuses writes if a table or the session names keys"
        else
          s"$other: checkpoints of tables whose properties name keys are plaintext, with minimum and maximum; with " +
            "keys of columns in the session there are no checkpoints"
      Check.problem(
        FactoryName,
        found,
        s"Set spark.hadoop.${FormatName.CryptoFactorySetting}=${FormatName.CryptoFactoryClass}."
      )
  }

  def ofExtensions(hasRules: Boolean): Check =
    if (hasRules) Check.ok(ExtensionsName, "PmeExtensions refuses what would make protected columns readable")
    else {
      val found =
        "without PmeExtensions: nothing refuses writes that would be plaintext, and properties of a table may choose " +
          "where keys go"
      Check.problem(ExtensionsName, found, s"Add ${FormatName.ExtensionsClass} to spark.sql.extensions.")
    }

  def ofGuard(isSet: Boolean): Check =
    if (isSet) Check.ok(GuardName, "PmeLogStore")
    else {
      val found = "Delta commits without PmeLogStore: values of protected columns may get into the log"
      Check.problem(
        GuardName,
        found,
        s"Start the application with ${GuardSetting.Name}=${FormatName.LogStoreClass}."
      )
    }

  private def ofPredicates(settings: Map[String, String]) = {
    val name = FormatName.SessionPrefix + PmeOptions.DeltaPredicates.name
    val values = settings.collect { case (key, value) if key.equalsIgnoreCase(name) => value }.toSeq
    if (values.isEmpty || values.exists(_ != "allow")) Nil
    else {
      val found =
        s"$name=allow: conditions and constraints with values of protected columns are readable in the log"
      Seq(Check.warning("Delta predicates", found, "Unset it, unless these values may be readable."))
    }
  }

  private def hasDelta(session: SparkSession) =
    try DataSource.lookupDataSource("delta", SparkAccess.sqlConf(session)).getName.startsWith(Deltas)
    catch { case NonFatal(_) | _: LinkageError => false }

  private val Deltas = "org.apache.spark.sql.delta."
  private val FactoryName = "Delta crypto factory"
  private val ExtensionsName = "Delta extensions"
  private val GuardName = "Delta commit guard"
}

/**
 * Whether the crypto factory gets the footer key of the session, which checkpoints need, in the way that it has in tasks:
 * from the driver, if that knows the configuration.
 *
 * @param hasRules whether the session has PmeExtensions
 */
private final class FactoryTrial(session: SparkSession, hasRules: Boolean) {
  private val conf: Configuration = SparkAccess.hadoopConf(session, Map.empty)

  def checks: Seq[Check] = {
    // As the first statement does.
    if (hasRules) SessionKeys.remember(session)
    opened match {
      case Right(trial) => tried(trial)
      case Left(noKey) if noKey.condition == Condition.NoKey =>
        val found =
          if (hasRules) "the session has no footer key, so PmeExtensions refuses to write Delta tables"
          else "the session has no footer key, so Delta writes none, and only logs a warning"
        Seq(Check.problem(Checkpoints, found, s"Set spark.hadoop.${PmeOptions.FactoryPrefix}footerKey."))
      case Left(failed) => Seq(Check.failure(Kms, failed))
    }
  }

  private def opened: Either[PmeException, LogTrial] =
    try Right(LogTrial.of(conf))
    catch { case failed: PmeException => Left(failed) }

  private def tried(trial: LogTrial): Seq[Check] = {
    val onDriver = trial.keys.flatMap { key =>
      Check.attempt(Kms) {
        val calls = trial.of(key, "trial from the driver")
        Seq(Check.ok(Kms, s"${trial.describe}, key '$key': ${FactoryTrial.timings(calls)}"))
      }
    }
    val under = s"encrypted under '${trial.keys.mkString("', '")}'"
    if (onDriver.forall(_.isOk)) Check.ok(Checkpoints, under) +: (onDriver ++ onExecutor(trial.keys))
    else onDriver
  }

  private def onExecutor(keys: Seq[String]) = Check.attempt(KmsOfExecutor) {
    FileJob.each(session, conf, keys, 1)(FactoryTrial.inTask).map {
      case (key, Right(task)) => FactoryTrial.ofTask(KmsOfExecutor, key, task)
      case (_, Left(failed)) => Check.failure(KmsOfExecutor, failed.condition, failed.message)
    }
  }

  private val Checkpoints = "Delta checkpoints"
  private val Kms = "KMS of the crypto factory"
  private val KmsOfExecutor = "KMS of the crypto factory on an executor"
}

/** What a task found. ''Crosses the wire.'' */
private[doctor] final case class TaskTrial(isByDriver: Boolean, isAsAsked: Boolean, calls: KeyCalls)

private[doctor] object FactoryTrial {
  def inTask(key: String, conf: Configuration): TaskTrial = {
    val trial = LogTrial.of(conf)
    TaskTrial(trial.isByDriver, trial.isAsAsked, trial.of(key, "trial from an executor"))
  }

  def ofTask(name: String, key: String, task: TaskTrial): Check = {
    val what = s"key '$key': ${timings(task.calls)}"
    if (task.isByDriver) Check.ok(name, s"through the driver, $what")
    else if (task.isAsAsked) Check.ok(name, s"by itself, $what")
    else
      Check.warning(
        name,
        s"by itself, though kms.callFrom=driver: the driver does not know the task's configuration, so each executor calls " +
          s"the KMS; $what",
        s"Add ${FormatName.ExtensionsClass} to spark.sql.extensions, and run the session as the application's user " +
          "(docs/other-engines.md)."
      )
  }

  def timings(calls: KeyCalls): String =
    calls.millis.map { case (what, time) => s"$what in $time ms" }.mkString(", ")
}
