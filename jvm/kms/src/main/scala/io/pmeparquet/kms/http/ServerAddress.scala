package io.pmeparquet.kms.http

import java.net.{URI, URISyntaxException}

import io.pmeparquet.options.OptionSpec
import io.pmeparquet.PmeErrors

/** The address of a KMS: https, or http to a loopback address. */
final class ServerAddress private (uri: URI) {
  override def toString: String = uri.toString.stripSuffix("/")
}

object ServerAddress {

  /** @throws io.pmeparquet.PmeException for an invalid address, or one that would send credentials unencrypted */
  def parse(option: OptionSpec, text: String): ServerAddress = {
    val uri =
      try new URI(text.trim)
      // Without the cause: its message has the whole text, which may contain a password.
      catch { case _: URISyntaxException => throw PmeErrors.badOption(option.name, "…", Expected) }
    val more = Seq(uri.getUserInfo, uri.getQuery, uri.getFragment).exists(_ != null)
    val path = Option(uri.getRawPath).getOrElse("").stripSuffix("/")
    val isElsewhere = path.nonEmpty && !UrlPath.isPlain(path.stripPrefix("/"))
    // The part before an @ may be a password.
    if (!isSafe(uri) || more || isElsewhere)
      throw PmeErrors.badOption(option.name, s"${uri.getScheme}://${uri.getHost}", Expected)
    new ServerAddress(uri)
  }

  /** Whether an address may receive tokens: https, or a loopback address. */
  def isSafe(uri: URI): Boolean =
    uri.getHost != null && (uri.getScheme == "https" || (uri.getScheme == "http" && isLoopback(uri.getHost)))

  def isLoopback(host: String): Boolean =
    host == "localhost" || host == "[::1]" || host.matches("127(\\.\\d{1,3}){3}")

  private val Expected =
    "https://HOST:PORT, or http:// with a loopback address: each call sends credentials"
}

/**
 * Names that become part of the path of a request, or of a header that a server uses as one: a mount, a namespace. They
 * cannot lead to another place than they appear to name.
 */
object UrlPath {

  /**
   * @return the path without slashes around it
   * @throws io.pmeparquet.PmeException for `..`, empty parts, and characters with a special meaning in a URL
   */
  def parse(option: OptionSpec, text: String): String = {
    val path = text.trim.stripPrefix("/").stripSuffix("/")
    if (!isPlain(path))
      throw PmeErrors.badOption(
        option.name,
        shown(text),
        "names other than . and .., separated by single slashes"
      )
    path
  }

  /** Whether all its parts are plain names. */
  def isPlain(path: String): Boolean = {
    val parts = path.split("/", -1)
    parts.forall(part => part.nonEmpty && part != "." && part != "..") && path.forall(isPlain)
  }

  // Another server may decode an encoded character; some servers ignore what follows a semicolon.
  private def isPlain(character: Char): Boolean = character match {
    case '?' | '#' | '%' | '\\' | ';' => false
    case _ => !Character.isISOControl(character) && !Special(Character.getType(character))
  }

  // Line ends, invisible characters, and unpaired surrogates.
  private val Special: Set[Int] = Set(
    Character.LINE_SEPARATOR,
    Character.PARAGRAPH_SEPARATOR,
    Character.FORMAT,
    Character.SURROGATE,
    Character.UNASSIGNED,
    Character.PRIVATE_USE
  ).map(_.toInt)

  private def shown(text: String) =
    text.map(sign => if (Character.isISOControl(sign)) ' ' else sign).take(MostShown)
  private val MostShown = 200
}
