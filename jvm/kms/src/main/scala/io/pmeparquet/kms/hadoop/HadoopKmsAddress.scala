package io.pmeparquet.kms.hadoop

import java.io.IOException
import java.net.{URI, URISyntaxException}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.crypto.key.{KeyProviderCryptoExtension, KeyProviderFactory}
import org.apache.hadoop.fs.CommonConfigurationKeysPublic._

import io.pmeparquet.kms.client.KmsFailure
import io.pmeparquet.kms.http.{ServerAddress, UrlPath}
import io.pmeparquet.options.PmeOptions

/** Opens the Hadoop KMS that a configuration names. */
private[pmeparquet] object HadoopKmsAddress {
  private val Form = "(https?)@([^@/]+)".r

  def open(conf: Configuration, timeoutSeconds: Int): KeyProviderCryptoExtension = {
    val uri = of(conf)
    // No call yet; but for TLS there are files to read.
    val opened =
      try KeyProviderFactory.get(uri, own(conf, timeoutSeconds))
      catch {
        case failed: IOException =>
          throw KmsFailure.unavailable("the client of Hadoop KMS cannot be set up", failed)
      }
    KeyProviderCryptoExtension.createKeyProviderCryptoExtension(opened)
  }

  /** Whether all its hosts are this one. */
  private def areNear(hosts: String) =
    hosts.split(";").forall(host => ServerAddress.isLoopback(host.takeWhile(_ != ':')))

  private def of(conf: Configuration): URI = {
    val name = PmeOptions.HadoopUri.name
    val set = Option(conf.getTrimmed(PmeOptions.ParquetPrefix + name))
      .orElse(Option(conf.getTrimmed(HADOOP_SECURITY_KEY_PROVIDER_PATH)))
      .filter(_.nonEmpty)
      .getOrElse(
        throw KmsFailure.badSetting(name, s"it is not set, and neither is $HADOOP_SECURITY_KEY_PROVIDER_PATH")
      )
    def unusable(why: String) = KmsFailure.badSetting(name, why)
    val uri =
      try new URI(set)
      // Without the cause: its message has the whole text, which may contain a password.
      catch { case _: URISyntaxException => throw unusable("it is not a URL") }
    val path = Option(uri.getRawPath).getOrElse("").stripPrefix("/").stripSuffix("/")
    val isElsewhere = Seq(uri.getRawQuery, uri.getRawFragment).exists(_ != null) ||
      (path.nonEmpty && !UrlPath.isPlain(path))
    if (isElsewhere) throw unusable("it has more than a plain path after the port")
    (uri.getScheme, uri.getRawAuthority) match {
      case ("kms", Form(transport, hosts)) =>
        // Hadoop KMS hands keys out as they are, so what reads the network reads them.
        if (transport == "http" && !areNear(hosts))
          throw unusable(
            "kms://http@ sends keys over the network unencrypted; it must begin with kms://https@"
          )
        uri
      case _ => throw unusable("it is not of the form kms://https@HOST:PORT/kms")
    }
  }

  /** Hadoop fetches encrypted keys ahead, 500 by default, for the many files of an encryption zone. One is enough here. */
  private def own(conf: Configuration, timeoutSeconds: Int): Configuration = {
    val own = new Configuration(conf)
    own.setInt(KMS_CLIENT_ENC_KEY_CACHE_SIZE, 1)
    own.setFloat(KMS_CLIENT_ENC_KEY_CACHE_LOW_WATERMARK, 1f)
    own.setInt(KMS_CLIENT_ENC_KEY_CACHE_NUM_REFILL_THREADS, 1)
    own.setInt(KMS_CLIENT_TIMEOUT_SECONDS, timeoutSeconds)
    own
  }
}
