package io.pmeparquet.kms.vault

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import io.pmeparquet.{PmeErrors, PmeException, Secret}
import io.pmeparquet.kms.http.{Answer, JsonHttp}

/** The token of one Vault and identity: it comes from a login, is renewed before it expires, and replaced when it has. */
private[vault] final class VaultTokens(api: VaultApi, login: VaultLogin, clock: JsonHttp.Clock) {
  import VaultTokens._

  private var current: Option[Lease] = None

  /** A failure that all calls get for a while without another attempt. */
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
    s"${api.describe} refused the token: it is wrong, it has expired, or it may not look itself up, as " +
      "Vault's default policy allows"
  )

  /** A token that should be valid. */
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
   * Another token, if `permission denied` from Vault was about the token; none if it was about the key. Atomic, so that one
   * of many concurrent calls checks it.
   */
  def afterIfOver(token: Secret, where: String): Option[Secret] = synchronized {
    // Another thread has already replaced a token that is no longer current.
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

  /** A token to replace an expired one. */
  def after(over: Secret, where: String): Secret = synchronized {
    if (current.exists(_.token == over)) current = None
    login match {
      case _: VaultLogin.Token => remembering(where)(throw refusal(where))
      case _ => token(where)
    }
  }

  private def fresh(where: String): Lease = login match {
    // Its lifetime is looked up after it has been used for a while: most jobs never need it.
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

  /** A token that cannot be renewed stays in use until Vault reports that it has expired. */
  private def renewed(old: Lease, where: String): Lease =
    try {
      val answer = api.post(Seq("auth", "token", "renew-self"), Some(old.token))(where)
      leaseOf(answer).getOrElse(login match {
        case _: VaultLogin.Token => old.copy(renewAt = clock.millis() + UnknownMillis)
        case _ => fresh(where)
      })
    } catch {
      // Half of its lifetime is left, and the call itself may succeed although the renewal failed.
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
   * @param renewAt when half of its lifetime is over
   * @param goodUntil until when it need not be checked, because Vault has just issued or confirmed it
   */
  final case class Lease(token: Secret, renewAt: Long, goodUntil: Long)

  final case class Refused(failure: PmeException, where: String, until: Long)

  /** Vault's default policy lets every token look itself up. */
  val LookUp: Seq[String] = Seq("auth", "token", "lookup-self")

  val Ok = 200
  val Forbidden = 403
  val RefusalMillis = 10000L

  /** When to renew a token without a stated lifetime. */
  val UnknownMillis: Long = 5 * 60 * 1000L
}
