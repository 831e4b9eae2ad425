package io.pmeparquet.kms.vault

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

  override def state(id: String, where: String): KeyState = {
    val answer = transit.call(Keys, id, None, where)
    if (isOfNoKey(answer)) KeyState.Missing
    else {
      val data = transit.granted(answer, id, where).body.path("data")
      if (!data.path("type").isTextual) throw transit.strange(answer, where)
      KeyState.Usable
    }
  }

  override def nameOf(id: String, where: String): String = id

  override def create(ids: Seq[String], where: String): Unit = ids.foreach { id =>
    // Vault takes the creation of a key that it has for a wish that is fulfilled.
    if (state(id, where) != KeyState.Missing)
      throw PmeErrors.keyUnusable(where, id, s"${transit.describe} already has it")
    granted(transit.call(Keys, id, Some(VaultApi.body("type" -> "aes256-gcm96")), where), id, where)
  }

  override def destroy(id: String, where: String): KeyState = {
    if (state(id, where) == KeyState.Missing) throw PmeErrors.keyNotFound(where, id, transit.describe)
    // By default keys cannot be deleted.
    granted(transit.configure(id, VaultApi.body().put("deletion_allowed", true), where), id, where)
    val deleted = transit.delete(id, where)
    // A repeated request finds no key any more, which Vault calls an error.
    if (state(id, where) != KeyState.Missing) {
      granted(deleted, id, where)
      throw PmeErrors.kmsUnavailable(
        where,
        s"${transit.describe} says that it deleted key '$id', and still has it"
      )
    }
    KeyState.Destroyed
  }

  private def granted(answer: Answer, id: String, where: String): Unit =
    if (answer.status != NoContent) {
      transit.granted(answer, id, where)
      ()
    }

  private val NoContent = 204
}
