package io.pmeparquet.spark.keys

import java.io.IOException
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.TimeoutException

import org.apache.spark.{SparkEnv, SparkException}
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.pmeparquet.keys.{KeyDesks, KeyRoute}
import io.pmeparquet.PmeErrors

/**
 * `kms.callFrom=driver`: executors ask their driver for keys. Code in the driver's own process asks without a network.
 * ''Crosses the wire.''
 *
 * @param endpoint the name under which the driver answers
 */
private[spark] final case class DriverRoute(endpoint: String) extends KeyRoute {

  override def ask(request: Array[Byte], where: String): Array[Byte] =
    // Tasks in the driver may have our classes from another class loader, where no desks are open. Then RPC finds them.
    if (SparkEnv.get.executorId == DriverRoute.Driver && endpoint == KeyRpc.NAME) KeyDesks.answer(request)
    else
      try KeyRpc.ask(endpoint, request)
      catch {
        case failed @ (_: SparkException | _: TimeoutException | _: IOException | _: IllegalStateException) =>
          throw PmeErrors.kmsUnavailable(where, "the driver, which calls it, did not answer", failed)
      }
}

private[spark] object DriverRoute {
  private val Driver = "driver"
  private val log = LoggerFactory.getLogger(classOf[DriverRoute])
  private val warned = new AtomicBoolean

  /** What to do if RPC is not encrypted. */
  val Remedy: String =
    "Set spark.authenticate=true, spark.network.crypto.enabled=true and spark.network.crypto.cipher=AES/GCM/NoPadding " +
      "unless you trust the network."

  /** Starts to answer on the driver. ''Driver only.'' */
  def open(): DriverRoute = DriverRoute(KeyRpc.answer())

  /** Warns once if nothing protects keys, or a KMS's credentials, on their way to executors. */
  def warnWhereReadable(session: SparkSession): Unit = {
    val context = session.sparkContext
    if (!context.isLocal && !isEncrypted(session) && warned.compareAndSet(false, true))
      log.warn(
        s"The driver sends keys to executors over Spark's RPC, which this application does not encrypt. $Remedy"
      )
  }

  /** Whether Spark's settings encrypt the messages between driver and executors. */
  def isEncrypted(session: SparkSession): Boolean = protection(session) != RpcProtection.None

  def protection(session: SparkSession): RpcProtection =
    RpcProtection.of(session.sparkContext.getConf, session.version)
}
