package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.cipher.CryptoProvider
import io.pmeparquet.spark.admin.doctor.{
  Check,
  DeltaChecks,
  ExecutorChecks,
  ExecutorFacts,
  InstallationChecks,
  KmsChecks,
  SettingChecks
}
import io.pmeparquet.spark.admin.job.ResultRows
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.PmeException

/**
 * Checks that everything the format needs is compatible and works, and advises what to do if not: `pme.doctor`, in SQL
 * `pme_doctor`, and in Scala
 * {{{
 *   Doctor.examine(spark, Map("kms.keystore.path" -> …, "footerKey" -> "footer")).foreach(println)
 * }}}
 * It writes nothing. A check that fails is a result, not an exception. ''Driver only.''
 */
object Doctor {

  /**
   * @param options the options of a write: if they name a KMS and keys, the doctor tries them
   * @param wheel the version of the Python package, if Python asks
   */
  def examine(session: SparkSession, options: Map[String, String], wheel: Option[String] = None): Seq[Check] =
    InstallationChecks.all(session, wheel) ++
      SettingChecks.all(session, options) ++
      running(session, options) ++
      DeltaChecks.all(session)

  private[admin] val results: ResultRows[Check] = ResultRows
    .of[Check]
    .required("name", StringType)(_.name)
    .required("status", StringType)(_.status)
    .required("found", StringType)(_.found)
    .required("remedy", StringType)(_.remedy)

  private def running(session: SparkSession, options: Map[String, String]): Seq[Check] = {
    val provider = providerOf(session, options)
    val kms = new KmsChecks(session, options)
    try {
      val driver = ExecutorFacts.here(provider, measured = true)
      val (executors, work) = ExecutorChecks.all(session, provider, driver)
      driver.aes.checks("on the driver") ++ executors ++ kms.all(work)
    } catch {
      case failed @ (NonFatal(_) | _: LinkageError) =>
        Check.failure("AES provider on the driver", failed) +: kms.all(executorsWork = true)
    }
  }

  /** Ignores wrong options: another check reports them. */
  private def providerOf(session: SparkSession, options: Map[String, String]) =
    try ResolvedOptions.ofFrame(session, options).readSettings.cryptoProvider
    catch { case _: PmeException => CryptoProvider.Auto }

  /** For Python. */
  def examine(session: SparkSession, options: java.util.Map[String, String], wheel: String): Array[Check] =
    examine(session, options.asScala.toMap, Option(wheel)).toArray
}
