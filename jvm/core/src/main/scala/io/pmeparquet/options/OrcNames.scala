package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.{PmeErrors, Spelling}

/** Names of ORC's own settings that ask for encryption. ORC looks for exact names and ignores all others. */
object OrcNames {
  val Encrypt = "orc.encrypt"
  private val Mask = "orc.mask"
  private val Known = Seq(Encrypt, "orc.key.provider", Mask)

  /** Whether a setting asks for encryption, in any letters, with or without Spark's prefix. */
  def concerns(name: String): Boolean = meant(SettingNames.bare(name)).isDefined

  /** @throws io.pmeparquet.PmeException for a name that ORC does not read, and that is almost one that it reads */
  def check(name: String): Unit = if (!Known.contains(name))
    meant(name).foreach(right => throw PmeErrors.unknownOption("setting", name, right))

  private def meant(name: String): Option[String] = {
    val text = name.toLowerCase(Locale.ROOT)
    if (text.startsWith("orc.")) Known.find(known => text.startsWith(known) || isNear(text, known)) else None
  }

  // Short names are near too many others.
  private def isNear(text: String, known: String) =
    known != Mask && math.abs(text.length - known.length) <= 2 && Spelling.distance(text, known) <= 2
}
