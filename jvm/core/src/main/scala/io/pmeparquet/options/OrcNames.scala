package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.PmeErrors

/** Names of ORC's own settings that ask for encryption. ORC looks for exact names and ignores all others. */
object OrcNames {
  val Encrypt = "orc.encrypt"
  private val Known = Seq(Encrypt, "orc.key.provider", "orc.mask")
  private val Beginnings = Known.map(_.dropRight(1))

  /** Whether a setting asks for encryption, in any letters, with or without Spark's prefix. */
  def concerns(name: String): Boolean = {
    val text = SettingNames.bare(name).toLowerCase(Locale.ROOT)
    text.startsWith("orc.") && Beginnings.exists(text.startsWith)
  }

  /** @throws io.pmeparquet.PmeException for a name that ORC does not read */
  def check(name: String): Unit = if (!Known.contains(name))
    Known.find(known => concerns(name) && begins(name, known)).foreach { right =>
      throw PmeErrors.unknownOption("setting", name, right)
    }

  private def begins(name: String, known: String) =
    name.toLowerCase(Locale.ROOT).startsWith(known.dropRight(1))
}
