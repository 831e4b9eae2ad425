package io.pmeparquet.kms.http

import io.pmeparquet.options.OptionSpec
import io.pmeparquet.PmeErrors

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
