package io.pmeparquet.kms.vault

import io.pmeparquet.{PmeErrors, Secret}
import io.pmeparquet.keys.{FileContent, KmsSettings}
import io.pmeparquet.kms.client.KmsOptionReader
import io.pmeparquet.kms.http.{ServerAddress, UrlPath}
import io.pmeparquet.options.PmeOptions

/**
 * How to reach the transit engine of HashiCorp Vault or OpenBao.
 *
 * @param address `https://host:port`
 * @param mount where the transit engine is mounted
 * @param authorities CA certificates in PEM to trust in place of the JVM's
 * @param timeoutMillis time limit of one call, including retries
 */
final case class VaultSettings(
    address: String,
    mount: String,
    namespace: Option[String],
    login: VaultLogin,
    authorities: Option[FileContent],
    timeoutMillis: Long
) extends KmsSettings {
  override def kind: String = "vault"
  override def isInProcess: Boolean = false
}

/** How to get a token. */
sealed trait VaultLogin extends Serializable

object VaultLogin {

  /** A given token. */
  final case class Token(value: Secret) extends VaultLogin

  /** @param jwt the token of the service account of the pod */
  final case class Kubernetes(role: String, jwt: Jwt, mount: String) extends VaultLogin

  final case class AppRole(roleId: String, secretId: Secret, mount: String) extends VaultLogin

  sealed trait Jwt extends Serializable

  /** A file, which the cluster replaces before the token expires: read at each login. */
  final case class JwtFile(path: String) extends Jwt
  final case class JwtText(value: Secret) extends Jwt
}

/** Builds the settings of `kms=vault`. */
object VaultSettings {
  import PmeOptions._

  /** @throws io.pmeparquet.PmeException if a setting is missing, invalid or unsafe */
  def of(values: KmsOptionReader): VaultSettings = {
    val url = ServerAddress.parse(VaultUrl, values.requiredText(VaultUrl, "with kms=vault"))
    VaultSettings(
      url.toString,
      UrlPath.parse(VaultMount, values.requiredText(VaultMount, "with kms=vault")),
      values.text(VaultNamespace).map(_.trim).filter(_.nonEmpty).map(UrlPath.parse(VaultNamespace, _)),
      login(values),
      values.file(VaultCaCert),
      values.millis(KmsTimeout)
    )
  }

  private def jwt(values: KmsOptionReader, why: String): VaultLogin.Jwt =
    values.text(VaultJwt).map(_.trim).filter(_.startsWith(FileReference)) match {
      case Some(file) => VaultLogin.JwtFile(file.stripPrefix(FileReference).stripPrefix("//"))
      case None => VaultLogin.JwtText(values.requiredToken(VaultJwt, why))
    }

  private val FileReference = "file:"

  private def login(values: KmsOptionReader): VaultLogin = {
    val auth = values.text(VaultAuth).getOrElse(VaultAuth.values.head)
    val why = s"with kms.vault.auth=$auth"
    Seq(VaultToken -> "token", VaultSecretId -> "approle", VaultJwt -> "kubernetes").foreach {
      case (option, other) =>
        if (other != auth && values.isSet(option))
          throw PmeErrors.contradiction(
            s"${VaultAuth.name} and ${option.name}",
            s"${option.name} is only for ${VaultAuth.name}=$other",
            "Remove one of them."
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
