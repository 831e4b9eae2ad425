package io.pmeparquet.keys.vault

import io.pmeparquet.keys.KmsSettings
import io.pmeparquet.Secret

/**
 * How to reach the transit engine of HashiCorp Vault or OpenBao.
 *
 * @param address `https://host:port`
 * @param mount where the transit engine is mounted
 * @param authorities certificates in PEM to trust in place of the JVM's
 * @param timeoutMillis all that one call may take, further attempts included
 */
final case class VaultSettings(
    address: String,
    mount: String,
    namespace: Option[String],
    login: VaultLogin,
    authorities: Option[KmsSettings.Content],
    timeoutMillis: Long
) extends Serializable

/** How a token is come by. */
sealed trait VaultLogin extends Serializable

object VaultLogin {

  /** A token that somebody made. */
  final case class Token(value: Secret) extends VaultLogin

  /** @param jwt the token of the pod's service account */
  final case class Kubernetes(role: String, jwt: Jwt, mount: String) extends VaultLogin

  final case class AppRole(roleId: String, secretId: Secret, mount: String) extends VaultLogin

  sealed trait Jwt extends Serializable

  /** A file, which the cluster writes anew before the token's time is over: read at each login. */
  final case class JwtFile(path: String) extends Jwt
  final case class JwtText(value: Secret) extends Jwt
}
