package io.pmeparquet.spark.keys

import java.util.concurrent.ConcurrentHashMap

import org.slf4j.LoggerFactory

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
