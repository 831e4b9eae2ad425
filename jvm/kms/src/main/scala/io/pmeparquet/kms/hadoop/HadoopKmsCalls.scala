package io.pmeparquet.kms.hadoop

import java.io.IOException
import java.net.{URI, URISyntaxException}
import java.security.PrivilegedExceptionAction
import java.util.concurrent.{Callable, ExecutionException}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.crypto.key.{KeyProviderCryptoExtension, KeyProviderFactory}
import org.apache.hadoop.fs.CommonConfigurationKeysPublic._
import org.apache.hadoop.security.authentication.client.AuthenticationException
import org.apache.hadoop.security.authorize.AuthorizationException
import org.apache.hadoop.security.UserGroupInformation

import io.pmeparquet.kms.client.{Deadline, KmsFailure}
import io.pmeparquet.kms.http.{ServerAddress, UrlPath}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.PmeException

/** Calls of a Hadoop KMS: their time is limited, and their failures become ours. */
private[kms] final class HadoopKmsCalls(timeoutMillis: Long) {
  def timeoutSeconds: Int = (timeoutMillis / 1000).toInt

  /**
   * Hadoop's own limit is for one attempt at one connection, and each call has several. So each has a thread, which is
   * left alone when time is up and ends when its socket does.
   */
  def of[A](masterKeyId: String)(call: => A): A = {
    if (!masterKeyId.matches(HadoopKmsCalls.Name))
      throw KmsFailure.missing("Hadoop KMS has no key of such a name", null)
    val user = UserGroupInformation.getCurrentUser
    val asked = new PrivilegedExceptionAction[A] { override def run(): A = call }
    val timed = new Callable[A] { override def call(): A = user.doAs(asked) }
    try Deadline.in(timeoutMillis).call("a call to Hadoop KMS", timed)
    catch {
      case failed: ExecutionException => throw HadoopKmsCalls.failure(failed.getCause, masterKeyId)
    }
  }
}

private[kms] object HadoopKmsCalls {

  /** What can be part of a path in Hadoop's requests and lead nowhere else. */
  private val Name = "[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}"

  /** How a server says that it cannot make a key under one that it does not have; to open one, it has a type for that. */
  private val NoSuchKey = "No KeyVersion exists for key"

  /** A server that makes keys ahead says of what it may not do the name of the exception, in the message of another. */
  private val NotAuthorized = classOf[AuthorizationException].getName

  private def failure(failed: Throwable, masterKeyId: String): Throwable = {
    val causes = PmeException.causes(failed)
    def any(is: Throwable => Boolean) = causes.exists(is)
    def says(words: String) = any(cause => String.valueOf(cause.getMessage).contains(words))
    if (any(_.isInstanceOf[AuthorizationException]) || says(NotAuthorized))
      KmsFailure.denied(s"Hadoop KMS does not let this user use key '$masterKeyId'", failed)
    else if (any(_.isInstanceOf[AuthenticationException]))
      KmsFailure.unavailable("Hadoop KMS refused the login of this user", failed)
    else if (says(NoSuchKey) || any(isNotFound))
      KmsFailure.missing(s"Hadoop KMS does not have key '$masterKeyId'", failed)
    else
      KmsFailure.unavailable(
        s"a call to Hadoop KMS failed (${causes.last.getClass.getSimpleName})",
        failed
      )
  }

  private def isNotFound(cause: Throwable) =
    cause.isInstanceOf[IllegalArgumentException] && String.valueOf(cause.getMessage).endsWith("not found")
}

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
