package io.pmeparquet.kms.vault

import scala.util.{Success, Try}

import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.keys.{KeyState, RemoteAdministration}
import io.pmeparquet.kms.http.Answer
import io.pmeparquet.PmeErrors

/**
 * Makes and deletes keys of the transit engine: `keys/<name>` of Vault's API. Vault forgets keys that were deleted, so
 * their state is [[KeyState.Missing]] afterwards.
 */
private[vault] final class VaultAdministration(transit: VaultTransit) extends RemoteAdministration {
  import VaultTransit._

  override def consequence: String =
    "at once, with all its versions; backups of Vault's storage, and keys that it exported, are not touched"

  override def state(id: String, where: String): KeyState =
    if (found(id, where).isDefined) KeyState.Usable else KeyState.Missing

  private def found(id: String, where: String): Option[JsonNode] = {
    val answer = transit.call(Keys, id, None, where)
    if (isOfNoKey(answer)) None
    else {
      val data = transit.granted(answer, id, where).body.path("data")
      if (!data.path("type").isTextual) throw transit.strange(answer, where)
      Some(data)
    }
  }

  override def nameOf(id: String, where: String): String = transit.placeOf(id)
  override def forgets: Boolean = true

  override def create(ids: Seq[String], where: String): Unit = ids.foreach { id =>
    // Vault takes the creation of a key that it has for a wish that is fulfilled.
    if (state(id, where) != KeyState.Missing)
      throw PmeErrors.keyUnusable(where, id, s"${transit.describe} already has it")
    granted(transit.call(Keys, id, Some(VaultApi.body("type" -> "aes256-gcm96")), where), id, where)
  }

  override def destroy(id: String, where: String): KeyState = {
    val key = found(id, where).getOrElse(throw PmeErrors.keyNotFound(where, id, transit.describe))
    // By default keys cannot be deleted.
    val isAllowed = key.path("deletion_allowed").asBoolean(false)
    if (!isAllowed) allowDeletion(id, allow = true, where)
    val deleted = Try(transit.delete(id, where))
    // A repeated request finds no key any more, which Vault calls an error.
    val now = Try(state(id, where))
    if (now != Success(KeyState.Missing)) {
      val forbids =
        if (!isAllowed && Try(allowDeletion(id, allow = false, where)).isSuccess) "again" else "no longer"
      val refusal = Try { granted(deleted.get, id, where); now.get }.failed.toOption
      throw PmeErrors.kmsUnavailable(
        where,
        s"${transit.describe} does not say that it deleted key '$id', and $forbids forbids that",
        refusal.orNull
      )
    }
    KeyState.Destroyed
  }

  private def allowDeletion(id: String, allow: Boolean, where: String): Unit =
    granted(transit.configure(id, VaultApi.body().put("deletion_allowed", allow), where), id, where)

  private def granted(answer: Answer, id: String, where: String): Unit =
    if (answer.status != NoContent) {
      transit.granted(answer, id, where)
      ()
    }

  private val NoContent = 204
}
