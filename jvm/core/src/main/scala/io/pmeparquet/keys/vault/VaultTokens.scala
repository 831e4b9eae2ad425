package io.pmeparquet.keys.vault

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import io.pmeparquet.{PmeErrors, PmeException, Secret}
import io.pmeparquet.keys.http.KmsHttp
import io.pmeparquet.keys.http.KmsHttp.Answer

/** The token of one Vault and one identity: got by logging in, renewed before it ends, and got anew when it has ended. */
private[vault] final class VaultTokens(api: VaultApi, login: VaultLogin, clock: KmsHttp.Clock) {
  import VaultTokens._

  private var current: Option[Lease] = None

  /** A login that failed, and until when it is not tried again: others wait for this one to end. */
  private var refused: Option[(PmeException, Long)] = None

  private def remembering(login: => Lease): Lease =
    try login
    catch {
      case failed: PmeException =>
        if (!PmeException.isOfCancelled(failed)) refused = Some(failed -> (clock.millis() + RefusalMillis))
        throw failed
    }

  /** A token that should be good. */
  def token(where: String): Secret = synchronized {
    refused.filter(clock.millis() < _._2).foreach { case (failed, _) => throw failed }
    val lease = current match {
      case None => remembering(fresh(where))
      case Some(old) if clock.millis() < old.renewAt => old
      case Some(old) => renewed(old, where)
    }
    current = Some(lease)
    lease.token
  }

  /**
   * Vault refused a token as such.
   *
   * @return another one; none where there is no way to get one
   */
  def after(refused: Secret, where: String): Option[Secret] = synchronized {
    login match {
      case _: VaultLogin.Token => None
      case _ =>
        // Another thread may have been here before.
        if (current.exists(_.token == refused)) current = None
        Some(token(where))
    }
  }

  private def fresh(where: String): Lease = login match {
    // How long it lasts is asked when it has been used for a while: most jobs never need to know.
    case VaultLogin.Token(value) => Lease(value, clock.millis() + UnknownMillis)
    case VaultLogin.Kubernetes(role, jwt, mount) =>
      loggedIn(mount, "role" -> role, "jwt" -> textOf(jwt, where))(where)
    case VaultLogin.AppRole(roleId, secretId, mount) =>
      loggedIn(mount, "role_id" -> roleId, "secret_id" -> secretId.insecureValue)(where)
  }

  private def textOf(jwt: VaultLogin.Jwt, where: String): String = jwt match {
    case VaultLogin.JwtText(value) => value.insecureValue
    case VaultLogin.JwtFile(path) =>
      try new String(Files.readAllBytes(Paths.get(path)), UTF_8).trim
      catch {
        case failed: IOException =>
          throw PmeErrors.kmsUnavailable(
            where,
            s"the service account's token $path (kms.vault.jwt) cannot be read",
            failed
          )
      }
  }

  private def loggedIn(mount: String, fields: (String, String)*)(where: String): Lease = {
    val answer = api.post(Seq("auth", mount, "login"), None, fields: _*)(where)
    leaseOf(answer).getOrElse {
      throw PmeErrors.kmsUnavailable(
        where,
        s"${api.describe} refused the login at auth/$mount with status ${answer.status}"
      )
    }
  }

  /** A token that cannot be renewed is used on: Vault tells when it is over. */
  private def renewed(old: Lease, where: String): Lease =
    try {
      val answer = api.post(Seq("auth", "token", "renew-self"), Some(old.token))(where)
      leaseOf(answer).getOrElse(login match {
        case _: VaultLogin.Token => old.copy(renewAt = clock.millis() + UnknownMillis)
        case _ => fresh(where)
      })
    } catch {
      // Half of its time is left, and what it is wanted for may be served though this was not.
      case _: PmeException => old.copy(renewAt = clock.millis() + RefusalMillis)
    }

  private def leaseOf(answer: Answer): Option[Lease] =
    answer.text("auth", "client_token").filter(_ => answer.status == Ok).map { token =>
      val seconds = answer.body.path("auth").path("lease_duration").asLong(0)
      val half = if (seconds > 0) seconds * 1000 / 2 else UnknownMillis
      Lease(new Secret(token), clock.millis() + half)
    }
}

private object VaultTokens {

  /** @param renewAt when half of its time is over */
  final case class Lease(token: Secret, renewAt: Long)

  val Ok = 200
  val RefusalMillis = 10000L

  /** After which a token is renewed that says no time. */
  val UnknownMillis: Long = 5 * 60 * 1000L
}
