package io.pmeparquet.spark.keys

import java.io.IOException
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.TimeoutException

import org.apache.spark.{SparkConf, SparkEnv, SparkException}
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.pmeparquet.keys.{KeyBrokers, KeyRoute}
import io.pmeparquet.spark.session.{PmeMetrics, SparkVersions}
import io.pmeparquet.PmeErrors

/**
 * `kms.callFrom=driver`: executors ask their driver for keys. Code in the driver's own process asks without a network.
 * ''Crosses the wire.''
 *
 * @param endpoint the name under which the driver answers
 */
private[spark] final case class DriverRoute(endpoint: String) extends KeyRoute {

  override def ask(request: Array[Byte], where: String): Array[Byte] =
    // Tasks in the driver may have our classes from another class loader, where no key brokers are open. Then RPC finds them.
    if (SparkEnv.get.executorId == KeyCallers.Driver && endpoint == KeyRpc.NAME) KeyBrokers.answer(request)
    else
      try KeyRpc.ask(endpoint, KeyCallers.sent(request))
      catch {
        case failed @ (_: SparkException | _: TimeoutException | _: IOException | _: IllegalStateException) =>
          throw PmeErrors.kmsUnavailable(where, "the driver, which calls it, did not answer", failed)
      }
}

private[spark] object DriverRoute {
  private val log = LoggerFactory.getLogger(classOf[DriverRoute])
  private val warned = new AtomicBoolean

  /** What to do if RPC is not encrypted. */
  val Remedy: String =
    "Set spark.authenticate=true, spark.network.crypto.enabled=true and spark.network.crypto.cipher=AES/GCM/NoPadding " +
      "unless you trust the network."

  /** Starts to answer on the driver. ''Driver only.'' */
  def open(): DriverRoute = {
    PmeMetrics.register()
    DriverRoute(KeyRpc.answer())
  }

  /** Warns once if nothing protects keys, or a KMS's credentials, on their way to executors. */
  def warnWhereReadable(session: SparkSession): Unit = {
    val context = session.sparkContext
    if (!context.isLocal && protection(session) == RpcProtection.None && warned.compareAndSet(false, true))
      log.warn(
        s"The driver sends keys to executors over Spark's RPC, which this application does not encrypt. $Remedy"
      )
  }

  def protection(session: SparkSession): RpcProtection =
    RpcProtection.of(session.sparkContext.getConf, session.version)
}

/** What protects the messages between driver and executors, which include keys. */
private[spark] sealed trait RpcProtection

private[spark] object RpcProtection {
  case object None extends RpcProtection

  /** Spark encrypts with AES in CTR mode, its default: anyone who can change packets can change what they say. */
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
    val tls = isOn("spark.ssl.rpc.enabled") && SparkVersions.hasRpcOverTls(version)
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
