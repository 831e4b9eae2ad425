package io.pmeparquet.options

import io.pmeparquet.{PmeErrors, Secret}
import io.pmeparquet.keys.vault.{VaultLogin, VaultSettings}
import io.pmeparquet.keys.KmsSettings

/** Where the settings of a KMS are looked up: options on the driver, or a Hadoop configuration. */
trait KmsValues {

  /** The value, or the option's default. */
  def text(option: OptionSpec): Option[String]

  /** Whether somebody gave it a value. */
  def isSet(option: OptionSpec): Boolean

  /** What the option refers to; none where it is not set and has no default. */
  def secret(option: OptionSpec): Option[Secret]

  /** The content of the file that the option names. */
  def file(option: OptionSpec): Option[KmsSettings.Content]

  def requiredText(option: OptionSpec, why: String): String =
    text(option).map(_.trim).filter(_.nonEmpty).getOrElse(throw PmeErrors.missingOption(option.name, why))

  def requiredSecret(option: OptionSpec, why: String): Secret =
    secret(option).getOrElse(throw PmeErrors.missingOption(option.name, why))

  /** A secret that is sent in a header or a field: without the line end that files and variables bring along. */
  def requiredToken(option: OptionSpec, why: String): Secret = {
    val text = requiredSecret(option, why).insecureValue.trim
    if (text.isEmpty || !text.forall(character => character > ' ' && character < 0x7f.toChar))
      throw PmeErrors.badOption(
        option.name,
        "…",
        "a reference to a token, which has letters, digits and signs only"
      )
    new Secret(text)
  }

  /** A number of seconds, as milliseconds. */
  def millis(option: OptionSpec): Long = {
    val value = requiredText(option, "for every KMS")
    val seconds =
      try value.toInt
      catch { case _: NumberFormatException => 0 }
    if (seconds < 1 || seconds > KmsValues.MaxSeconds)
      throw PmeErrors.badOption(option.name, value, s"a number of seconds from 1 to ${KmsValues.MaxSeconds}")
    seconds * 1000L
  }
}

object KmsValues {
  private val MaxSeconds = 3600
}

/** Makes the settings of `kms=vault`. */
object VaultOptions {
  import PmeOptions._

  /** @throws io.pmeparquet.PmeException for what is missing, of no use or unsafe */
  def settings(values: KmsValues): KmsSettings.Vault = {
    val url = KmsAddress.parse(VaultUrl, values.requiredText(VaultUrl, "with kms=vault"))
    KmsSettings.Vault(
      VaultSettings(
        url.toString,
        UrlPath.parse(VaultMount, values.requiredText(VaultMount, "with kms=vault")),
        values.text(VaultNamespace).map(_.trim).filter(_.nonEmpty).map(UrlPath.parse(VaultNamespace, _)),
        login(values),
        values.file(VaultCaCert),
        values.millis(KmsTimeout)
      )
    )
  }

  private def jwt(values: KmsValues, why: String): VaultLogin.Jwt =
    values.text(VaultJwt).map(_.trim).filter(_.startsWith(FileReference)) match {
      case Some(file) => VaultLogin.JwtFile(file.stripPrefix(FileReference).stripPrefix("//"))
      case None => VaultLogin.JwtText(values.requiredToken(VaultJwt, why))
    }

  private val FileReference = "file:"

  private def login(values: KmsValues): VaultLogin = {
    val auth = values.text(VaultAuth).getOrElse(VaultAuth.values.head)
    val why = s"with kms.vault.auth=$auth"
    Seq(VaultToken -> "token", VaultSecretId -> "approle", VaultJwt -> "kubernetes").foreach {
      case (option, other) =>
        if (other != auth && values.isSet(option))
          throw PmeErrors.contradiction(
            s"${VaultAuth.name} and ${option.name}",
            s"${option.name} is for ${VaultAuth.name}=$other",
            s"Leave one of them out."
          )
    }
    def mount = values.text(VaultAuthMount).map(UrlPath.parse(VaultAuthMount, _)).getOrElse(auth)
    auth match {
      case "token" => VaultLogin.Token(values.requiredToken(VaultToken, why))
      case "kubernetes" =>
        VaultLogin.Kubernetes(
          values.requiredText(VaultRole, why),
          jwt(values, why),
          mount
        )
      case "approle" =>
        VaultLogin.AppRole(
          values.requiredText(VaultRole, why),
          values.requiredToken(VaultSecretId, why),
          mount
        )
      case other => throw PmeErrors.badOption(VaultAuth.name, other, s"one of: ${VaultAuth.allowed}")
    }
  }
}
