package io.pmeparquet.kms.vault

import io.pmeparquet.keys.{FileContent, KmsSettings}
import io.pmeparquet.Secret

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
