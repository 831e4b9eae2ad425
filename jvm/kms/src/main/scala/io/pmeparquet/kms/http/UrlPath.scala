package io.pmeparquet.options

import io.pmeparquet.PmeErrors

/**
 * Names that become a part of the path of a request, or of a header that a server takes for one: a mount, a namespace.
 * None leads to another place than the one that it seems to name.
 */
object UrlPath {

  /**
   * @return the path without slashes around it
   * @throws io.pmeparquet.PmeException for `..`, empty parts, and what has a meaning of its own in an address
   */
  def parse(option: OptionSpec, text: String): String = {
    val path = text.trim.stripPrefix("/").stripSuffix("/")
    if (!isPlain(path))
      throw PmeErrors.badOption(
        option.name,
        shown(text),
        "names with single slashes between them, none of them . or .."
      )
    path
  }

  /** Whether each of its parts is a name and nothing else. */
  def isPlain(path: String): Boolean = {
    val parts = path.split("/", -1)
    parts.forall(part => part.nonEmpty && part != "." && part != "..") && path.forall(isPlain)
  }

  // An encoded sign is one that somebody decodes further on; what follows a semicolon some servers leave out.
  private def isPlain(character: Char): Boolean = character match {
    case '?' | '#' | '%' | '\\' | ';' => false
    case _ => !Character.isISOControl(character) && !Special(Character.getType(character))
  }

  // Line ends, signs that cannot be seen, and halves of signs.
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
