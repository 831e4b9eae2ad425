package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types.{StringType, StructField, StructType}

import io.pmeparquet.cipher.CryptoProvider
import io.pmeparquet.spark.admin.doctor.{
  Check,
  ClassPathChecks,
  DeltaChecks,
  ExecutorChecks,
  ExecutorFacts,
  IcebergChecks,
  KmsChecks,
  SettingChecks,
  VersionChecks
}
import io.pmeparquet.spark.options.ConfResolver
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
    VersionChecks.all(session, wheel) ++
      ClassPathChecks.all(session) ++
      SettingChecks.all(session, options) ++
      IcebergChecks.all(session) ++
      running(session, options) ++
      DeltaChecks.all(session)

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

  /** Ignores wrong options: another check reports them. */
  private def providerOf(session: SparkSession, options: Map[String, String]) =
    try new ConfResolver(session).readSettings(options).cryptoProvider
    catch { case _: PmeException => CryptoProvider.Auto }

  /** For Python. */
  def examine(session: SparkSession, options: java.util.Map[String, String], wheel: String): Array[Check] =
    examine(session, options.asScala.toMap, Option(wheel)).toArray
}
