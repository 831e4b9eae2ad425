package io.pmeparquet.spark.keys

import org.apache.spark.{SparkConf, SparkEnv}

import io.pmeparquet.spark.session.SparkVersions

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
