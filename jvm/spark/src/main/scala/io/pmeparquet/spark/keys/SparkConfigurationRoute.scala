package io.pmeparquet.spark.keys

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{ConcurrentHashMap, TimeoutException}

import org.apache.spark.{SparkEnv, SparkException}
import org.slf4j.LoggerFactory

import io.pmeparquet.keys.{ConfigurationRoute, KeyBroker}
import io.pmeparquet.PmeErrors

/** The driver, for processes of Spark. Java's `ServiceLoader` makes it. */
final class SparkConfigurationRoute extends ConfigurationRoute {

  override def broker(request: String): Option[KeyBroker] =
    Option(SparkEnv.get).flatMap(_ => ask(request.getBytes(UTF_8))).flatMap { answer =>
      val (endpoint, message) = SessionKeys.partsOf(answer)
      val taken = KeyBroker.taken(message, DriverRoute(endpoint)).fold(failed => throw failed, identity)
      if (taken.isEmpty) UnknownConfigurations.note(request)
      taken
    }

  override def isWorker: Boolean = KeyCallers.isExecutor

  override def ofApplication(option: String): Seq[String] = KeyCallers.ofApplication(option)

  private def ask(request: Array[Byte]) =
    try Some(KeyRpc.ask(KeyRpc.CONFIGURATIONS, request))
    catch {
      // No session of the driver has PmeExtensions and the factory.
      case failed: Exception if KeyRpc.isUnknown(failed) => None
      case failed @ (_: SparkException | _: TimeoutException | _: IOException | _: IllegalStateException) =>
        throw PmeErrors.kmsUnavailable(
          "parquet.crypto.factory.class",
          "the driver, which calls it, did not answer",
          failed
        )
    }
}

/**
 * Says once for each configuration that the driver does not know it. Otherwise nobody would see why a KMS gets many calls.
 *
 * @param warn gets the message, which has neither settings nor their digest
 */
private[keys] final class UnknownConfigurations(warn: String => Unit) {
  private val noted = ConcurrentHashMap.newKeySet[String]()

  /** @param request what this process asked the driver for */
  def note(request: String): Unit =
    // Hundreds of them would say nothing new.
    if (noted.size < UnknownConfigurations.MaxNoted && noted.add(request)) warn(UnknownConfigurations.Message)
}

private[keys] object UnknownConfigurations {
  private val log = LoggerFactory.getLogger("io.pmeparquet")
  private val MaxNoted = 100
  private val ofProcess = new UnknownConfigurations(log.warn(_))

  def note(request: String): Unit = ofProcess.note(request)

  val Message: String =
    "The driver does not know the configuration of this read or write, so this process calls the KMS itself, as each other " +
      "executor does: that is one call for each key and process, and not one for each key. The configuration differs from " +
      "those of the driver's sessions by a property of the table, an option of the read or write, or a setting that only " +
      "some processes have. See docs/other-engines.md."
}
