package io.pmeparquet.options

import java.net.{URI, URISyntaxException}

import io.pmeparquet.keys.http.KmsHttp
import io.pmeparquet.PmeErrors

/** Where a KMS listens: encrypted, or not over a network. */
final class KmsAddress private (uri: URI) {
  override def toString: String = uri.toString.stripSuffix("/")
}

object KmsAddress {

  /** @throws io.pmeparquet.PmeException for what is no address, and for one that would send credentials readable */
  def parse(option: OptionSpec, text: String): KmsAddress = {
    val uri =
      try new URI(text.trim)
      // Without the cause: its message is the whole text, which may hold a password.
      catch { case _: URISyntaxException => throw PmeErrors.badOption(option.name, "…", Expected) }
    val more = Seq(uri.getUserInfo, uri.getQuery, uri.getFragment).exists(_ != null)
    val path = Option(uri.getRawPath).getOrElse("").stripSuffix("/")
    val isElsewhere = path.nonEmpty && !UrlPath.isPlain(path.stripPrefix("/"))
    // What stands before an @ may be a password.
    if (!KmsHttp.isSafe(uri) || more || isElsewhere)
      throw PmeErrors.badOption(option.name, s"${uri.getScheme}://${uri.getHost}", Expected)
    new KmsAddress(uri)
  }

  private val Expected =
    "https://HOST:PORT, or http:// with a loopback address, since credentials travel with each call"
}
