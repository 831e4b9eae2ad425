package io.pmeparquet.spark.admin.doctor

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Audience, Condition, PmeException}
import io.pmeparquet.columns.{ColumnKeys, KeyTemplate}
import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.options.WriteSettings
import io.pmeparquet.parquet.scope.{KeyCalls, KmsTrial}
import io.pmeparquet.spark.admin.job.FileJob
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.SparkAccess

/** Whether the KMS serves the driver and executors. It uses random keys that protect nothing. ''Driver only.'' */
private[admin] final class KmsChecks(session: SparkSession, options: Map[String, String]) {
  private lazy val resolved = ResolvedOptions.ofOperation(session, options, KeyPurpose.Try)
  private lazy val conf: Configuration = SparkAccess.hadoopConf(session, options)

  /** @param executorsWork whether executors run tasks, so that they can call the KMS */
  def all(executorsWork: Boolean): Seq[Check] = Check.attempt("KMS") {
    if (!resolved.namesKms)
      Seq(
        Check.warning("KMS", "none is named, so none was called", s"Name one: ${Audience.current.doctorKms}.")
      )
    else
      settings match {
        case Right(settings) => tried(settings, executorsWork)
        case Left(_) =>
          val found = s"${resolved.openKms(KeyPurpose.Try).describe}: no key is named, so nothing was wrapped"
          val remedy = s"Name keys: ${Audience.current.doctorKeys}."
          Seq(Check.warning("KMS", found, remedy))
      }
  }

  private def settings: Either[PmeException, WriteSettings] =
    try Right(resolved.writeSettings)
    catch { case noKey: PmeException if noKey.condition == Condition.NoKey => Left(noKey) }

  private def tried(settings: WriteSettings, executorsWork: Boolean): Seq[Check] = {
    val began = System.nanoTime()
    val trial = new KmsTrial(settings, conf)
    val millis = (System.nanoTime() - began) / 1000000
    val opened = Check.ok("KMS", s"${trial.describe}, opened in $millis ms; ${caller(settings)}")
    // Names that depend on partitions are known with the rows only.
    val (byPartition, keys) =
      settings.files.masterKeys.partition(KeyTemplate.of(_, ColumnKeys.OptionName).isTemplate)
    val onDriver = keys.flatMap { key =>
      val name = nameOf(key, "driver")
      Check.attempt(name)(Seq(Check.ok(name, timings(trial.onDriver(key)))))
    }
    // If the KMS refuses the driver, the driver can give executors neither keys nor anything to unwrap.
    val served = keys.zip(onDriver).collect { case (key, check) if check.isOk => key }
    val asked = if (settings.use.route.isDefined || settings.files.wrapsTwice) served else keys
    val untried =
      byPartition.map(key => Check.ok(s"key '$key'", "not tried: its name depends on a partition"))
    opened +: (onDriver ++ untried ++ (if (executorsWork) onExecutor(trial, settings, asked) else unasked))
  }

  private def caller(settings: WriteSettings) =
    if (settings.use.route.isDefined) "the driver calls it for executors (kms.callFrom=driver)"
    else "executors call it themselves (kms.callFrom=executor)"

  private def onExecutor(trial: KmsTrial, settings: WriteSettings, keys: Seq[String]): Seq[Check] =
    Check.attempt(OnExecutor) {
      val executors = trial.forExecutors
      val way = if (settings.use.route.isDefined) "through the driver, " else "by itself, "
      FileJob.each(session, conf, keys, 1)((key, conf) => executors.of(key, conf)).map {
        case (key, Right(calls)) => Check.ok(nameOf(key, "executor"), way + timings(calls))
        case (key, Left(failed)) => Check.failure(nameOf(key, "executor"), failed.condition, failed.message)
      }
    }

  private val OnExecutor = "KMS from an executor"

  private def unasked =
    Seq(
      Check.warning(
        OnExecutor,
        "not checked, because no executor works",
        "Correct that first, and run this again."
      )
    )

  private def nameOf(key: String, where: String) = s"key '$key' from $where"

  private def timings(calls: KeyCalls) =
    calls.millis.map { case (what, millis) => s"$what in $millis ms" }.mkString(", ")
}
