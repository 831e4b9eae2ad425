package io.pmeparquet.spark.admin.doctor

import java.net.{InetAddress, UnknownHostException}

import org.apache.spark.{SPARK_VERSION, SparkEnv}

import io.pmeparquet.spark.session.FormatName
import io.pmeparquet.ClassPathEntry

/**
 * Facts about a JVM of the application, to compare with the driver. ''Crosses the wire.''
 *
 * @param jar the name of the connector's jar
 * @param digest the digest of that jar's bytes
 */
private[admin] final case class ExecutorFacts(
    id: String,
    host: String,
    spark: String,
    java: String,
    jar: String,
    digest: Option[String],
    aes: AesFacts
) {
  def name: String = s"executor $id on $host"

  /** In words, the differences from the driver that may make tasks fail. */
  def misfits(driver: ExecutorFacts): Seq[String] = {
    val sameJar = digest.isDefined && digest == driver.digest
    val jars = if (sameJar) None else Some(s"another connector jar ($jar; on the driver ${driver.jar})")
    (other("Spark", driver, _.spark) ++ jars).toSeq
  }

  /** In words, the differences from the driver that make tasks faster or slower. */
  def differences(driver: ExecutorFacts): Seq[String] =
    Seq(
      other("Java", driver, _.java),
      other("AES provider", driver, _.aes.provider),
      other("AES switches that are off:", driver, _.aes.switchedOff.mkString("[", " ", "]"))
    ).flatten

  private def other(what: String, driver: ExecutorFacts, of: ExecutorFacts => String) =
    if (of(this) == of(driver)) None else Some(s"$what ${of(this)} (on the driver ${of(driver)})")
}

private[admin] object ExecutorFacts {

  /** A JVM reads the bytes of the jar once for all tasks. */
  private lazy val jar = ClassPathEntry.of(FormatName.dataSource)

  /** @param provider the value of option `cryptoProvider` */
  def here(provider: String, measured: Boolean): ExecutorFacts =
    ExecutorFacts(
      SparkEnv.get.executorId,
      hostName,
      SPARK_VERSION,
      System.getProperty("java.version"),
      jar.fold("none")(_.fileName),
      jar.flatMap(_.digest),
      AesFacts.here(provider, measured)
    )

  private def hostName =
    try InetAddress.getLocalHost.getHostName
    catch { case _: UnknownHostException => "an unknown host" }
}
