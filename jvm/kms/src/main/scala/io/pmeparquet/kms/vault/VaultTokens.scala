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

  /** What failed, to be told to others for a while in place of trying again: they wait for this one to end. */
  private var refused: Option[Refused] = None

  private def remembering[A](where: String)(attempt: => A): A = {
    refused
      .filter(clock.millis() < _.until)
      .foreach(old => throw old.failure.movedTo(where, from = old.where))
    try attempt
    catch {
      case failed: PmeException =>
        if (!PmeException.isOfCancelled(failed))
          refused = Some(Refused(failed, where, clock.millis() + RefusalMillis))
        throw failed
    }
  }

  def refusal(where: String): PmeException = PmeErrors.kmsUnavailable(
    where,
    s"${api.describe} takes the token for none: it is wrong, its time is over, or it may not look itself up, as " +
      "Vault's default policy allows"
  )

  /** A token that should be good. */
  def token(where: String): Secret = synchronized {
    val lease = current match {
      case None => remembering(where)(fresh(where))
      case Some(old) if clock.millis() < old.renewAt => old
      case Some(old) => renewed(old, where)
    }
    current = Some(lease)
    lease.token
  }

  /**
   * Another token, where Vault, which said `permission denied` and no more, meant the token; none where it meant the key.
   * In one step, so that of many who are refused at the same time one asks.
   */
  def afterIfOver(token: Secret, where: String): Option[Secret] = synchronized {
    // One that is no longer the current one was found to be over by another thread.
    val isOver = current.filter(_.token == token).forall { lease =>
      clock.millis() >= lease.goodUntil && {
        val known = remembering(where)(isKnown(token, where))
        if (known) current = Some(lease.copy(goodUntil = clock.millis() + RefusalMillis))
        !known
      }
    }
    if (isOver) Some(after(token, where)) else None
  }

  private def isKnown(token: Secret, where: String): Boolean = {
    val answer = api.get(LookUp, token)(where)
    answer.status match {
      case Ok => true
      case Forbidden => false
      case _ => throw api.strange(answer, where)
    }
  }

  /** Another token than one that is over. */
  def after(over: Secret, where: String): Secret = synchronized {
    if (current.exists(_.token == over)) current = None
    login match {
      case _: VaultLogin.Token => remembering(where)(throw refusal(where))
      case _ => token(where)
    }
  }

  private def fresh(where: String): Lease = login match {
    // How long it lasts is asked when it has been used for a while: most jobs never need to know.
    case VaultLogin.Token(value) => Lease(value, clock.millis() + UnknownMillis, goodUntil = clock.millis())
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
      Lease(new Secret(token), clock.millis() + half, goodUntil = clock.millis() + RefusalMillis)
    }
}

private object VaultTokens {

  /**
   * @param renewAt when half of its time is over
   * @param goodUntil till when Vault, which has just given or shown it, need not be asked whether it is one
   */
  final case class Lease(token: Secret, renewAt: Long, goodUntil: Long)

  final case class Refused(failure: PmeException, where: String, until: Long)

  /** Vault's default policy lets every token ask for itself. */
  val LookUp: Seq[String] = Seq("auth", "token", "lookup-self")

  val Ok = 200
  val Forbidden = 403
  val RefusalMillis = 10000L

  /** After which a token is renewed that says no time. */
  val UnknownMillis: Long = 5 * 60 * 1000L
}
