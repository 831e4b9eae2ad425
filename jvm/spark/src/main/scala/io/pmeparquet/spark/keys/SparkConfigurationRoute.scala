package io.pmeparquet.spark.keys

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeoutException

import org.apache.spark.{SparkEnv, SparkException}

import io.pmeparquet.keys.{ConfigurationRoute, KeyDesk}
import io.pmeparquet.PmeErrors

/** The driver, for processes of Spark. Java's `ServiceLoader` makes it. */
final class SparkConfigurationRoute extends ConfigurationRoute {

  override def desk(request: String): Option[KeyDesk] =
    Option(SparkEnv.get).flatMap(_ => ask(request.getBytes(UTF_8))).flatMap { answer =>
      val (endpoint, desk) = SessionKeys.partsOf(answer)
      val taken = KeyDesk.taken(desk, DriverRoute(endpoint)).fold(failed => throw failed, identity)
      if (taken.isEmpty) UnknownConfigurations.note(request)
      taken
    }

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
