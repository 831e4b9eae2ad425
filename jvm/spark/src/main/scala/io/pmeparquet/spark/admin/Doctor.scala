package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types.{StringType, StructField, StructType}

import io.pmeparquet.cipher.CryptoProvider
import io.pmeparquet.spark.admin.doctor.{
  Check,
  ClassPathChecks,
  ExecutorChecks,
  ExecutorFacts,
  KmsChecks,
  SettingChecks,
  VersionChecks
}
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.PmeException

/**
 * Looks whether all that the format stands on fits and works, and says what to do where it does not: `pme.doctor`, in SQL
 * `pme_doctor`, and for Scala
 * {{{
 *   Doctor.examine(spark, Map("kms.keystore.path" -> …, "footerKey" -> "footer")).foreach(println)
 * }}}
 * Nothing is written. A check that fails is an answer and no exception. ''Driver only.''
 */
object Doctor {

  /**
   * @param options of the format, as for a write: what names a KMS and keys has them tried
   * @param wheel version of the Python package, where it is Python that asks
   */
  def examine(session: SparkSession, options: Map[String, String], wheel: Option[String] = None): Seq[Check] =
    VersionChecks.all(session, wheel) ++
      ClassPathChecks.all(session) ++
      SettingChecks.all(session, options) ++
      running(session, options)

  private[admin] def rows(
      session: SparkSession,
      options: Map[String, String],
      wheel: Option[String]
  ): Seq[Row] =
    examine(session, options, wheel).map(check => Row(check.name, check.status, check.found, check.remedy))

  private[admin] val schema: StructType =
    StructType(Seq("name", "status", "found", "remedy").map(StructField(_, StringType, nullable = false)))

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

  /** What is wrong with options is told by a check of its own. */
  private def providerOf(session: SparkSession, options: Map[String, String]) =
    try new ConfResolver(session).readSettings(options).cryptoProvider
    catch { case _: PmeException => CryptoProvider.Auto }

  /** As Python calls it. */
  def examine(session: SparkSession, options: java.util.Map[String, String], wheel: String): Array[Check] =
    examine(session, options.asScala.toMap, Option(wheel)).toArray
}
