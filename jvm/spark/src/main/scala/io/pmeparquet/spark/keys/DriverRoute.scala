package io.pmeparquet.spark.keys

import java.io.IOException
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.TimeoutException

import org.apache.spark.{SparkConf, SparkEnv, SparkException}
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.pmeparquet.keys.{KeyDesk, KeyRoute}
import io.pmeparquet.PmeErrors

/**
 * `kms.callFrom=driver`: executors ask their driver for keys. What asks in the driver's own process asks without a
 * network. ''Crosses the wire''.
 *
 * @param endpoint the name under which the driver answers
 */
private[spark] final case class DriverRoute(endpoint: String) extends KeyRoute {

  override def ask(request: Array[Byte], where: String): Array[Byte] =
    // Classes of the driver's tasks can be of another loader, and then know none of its desks.
    if (SparkEnv.get.executorId == DriverRoute.Driver && endpoint == KeyRpc.NAME) KeyDesk.answer(request)
    else
      try KeyRpc.ask(endpoint, request)
      catch {
        case failed @ (_: SparkException | _: TimeoutException | _: IOException | _: IllegalStateException) =>
          throw PmeErrors.kmsUnavailable(where, "the driver, which asks it, gave no answer", failed)
      }
}

private[spark] object DriverRoute {
  private val Driver = "driver"
  private val log = LoggerFactory.getLogger(classOf[DriverRoute])
  private val warned = new AtomicBoolean

  /** What to do where RPC is not encrypted. */
  val Remedy: String =
    "Set spark.authenticate=true, spark.network.crypto.enabled=true and spark.network.crypto.cipher=AES/GCM/NoPadding " +
      "where the network is not yours alone."

  /** Makes the driver answer. ''Driver only''. */
  def open(): DriverRoute = DriverRoute(KeyRpc.answer())

  /** Says once what would protect keys, or a KMS's credentials, on their way to executors. */
  def warnWhereReadable(session: SparkSession): Unit = {
    val context = session.sparkContext
    if (!context.isLocal && !isEncrypted(session) && warned.compareAndSet(false, true))
      log.warn(
        s"The driver hands keys to executors over Spark's RPC, which this application does not encrypt. $Remedy"
      )
  }

  /** Whether Spark's settings encrypt what driver and executors say to each other. */
  def isEncrypted(session: SparkSession): Boolean = protection(session) != RpcProtection.None

  def protection(session: SparkSession): RpcProtection =
    RpcProtection.of(session.sparkContext.getConf, session.version)
}

/** What protects what driver and executors say to each other, keys among it. */
private[spark] sealed trait RpcProtection

private[spark] object RpcProtection {
  case object None extends RpcProtection

  /** By AES in CTR mode, which is Spark's default: who can alter packets can alter what they say. */
  case object Unauthenticated extends RpcProtection
  case object Authenticated extends RpcProtection

  /** Whether this Spark knows `spark.network.crypto.cipher`: 3.4.4, 3.5.2 and 4.0 do. */
  lazy val knowsGcm: Boolean =
    try {
      Class.forName(GcmClass, false, classOf[SparkEnv].getClassLoader)
      true
    } catch { case _: ClassNotFoundException => false }

  def of(conf: SparkConf, version: String, knowsGcm: => Boolean = knowsGcm): RpcProtection = {
    def isOn(name: String) = conf.getBoolean(name, defaultValue = false)
    // RPC over TLS came with Spark 4; older ones take no notice of the setting.
    val tls = isOn("spark.ssl.rpc.enabled") && !version.startsWith("3.")
    val aes = isOn("spark.network.crypto.enabled")
    if (tls) Authenticated
    else if (!isOn("spark.authenticate")) None
    else if (aes) if (knowsGcm && conf.get(CipherKey, "") == Gcm) Authenticated else Unauthenticated
    // SASL's encryption checks integrity.
    else if (isOn("spark.authenticate.enableSaslEncryption")) Authenticated
    else None
  }

  val CipherKey = "spark.network.crypto.cipher"
  val Gcm = "AES/GCM/NoPadding"
  private val GcmClass = "org.apache.spark.network.crypto.GcmTransportCipher"
}
