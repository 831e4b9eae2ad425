package io.pmeparquet.kms

import java.util.ServiceLoader

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.pmeparquet.keys.{ConfigurationRoute, KeyBroker}

/** The engines that this process is a part of. None where the engine is missing that an implementation needs. */
private[pmeparquet] object EngineRoutes {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  lazy val all: Seq[ConfigurationRoute] =
    try
      ServiceLoader
        .load(classOf[ConfigurationRoute], classOf[KeyBroker].getClassLoader)
        .iterator()
        .asScala
        .toList
    catch {
      case failed @ (_: java.util.ServiceConfigurationError | _: LinkageError | NonFatal(_)) =>
        log.info(s"This process calls the KMS itself: no engine answers (${failed.getClass.getSimpleName})")
        Nil
    }

  /** The values of an option of ours that the application of this process started with. */
  def ofApplication(option: String): Seq[String] = all.flatMap { route =>
    try route.ofApplication(option)
    catch {
      // An engine that is not on the class path.
      case _: LinkageError => Nil
    }
  }
}
