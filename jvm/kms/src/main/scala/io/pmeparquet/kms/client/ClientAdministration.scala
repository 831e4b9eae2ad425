package io.pmeparquet.kms.client

import io.pmeparquet.keys.{KeyState, RemoteAdministration}
import io.pmeparquet.PmeErrors

/**
 * The keys of a [[KeyAdministrationClient]].
 *
 * @param kms the KMS in messages
 * @param calling calls the client for a key, and gives its failures their conditions
 */
private[client] final class ClientAdministration(
    client: KeyAdministrationClient.Keys,
    kms: String,
    calling: (String, String, () => String) => String
) extends RemoteAdministration {
  import KeyAdministrationClient.Keys._

  override def consequence: String = client.consequence
  override def forgets: Boolean = client.forgets

  override def state(id: String, where: String): KeyState =
    parsed(calling(id, where, () => client.state(id)), where)

  override def nameOf(id: String, where: String): String = calling(id, where, () => client.nameOf(id))

  override def create(ids: Seq[String], where: String): Unit = {
    // None is made before it is known that all can be.
    val states = this.states(ids, where)
    ids.foreach { id =>
      states(id) match {
        case KeyState.Missing => ()
        case KeyState.Usable => throw PmeErrors.keyUnusable(where, id, s"$kms already has it")
        case _ => throw PmeErrors.nameOfDestroyedKey(where, id, kms)
      }
    }
    ids.foreach { id =>
      calling(
        id,
        where,
        { () =>
          client.create(id)
          USABLE
        }
      )
    }
  }

  override def destroy(id: String, where: String): KeyState = state(id, where) match {
    case KeyState.Missing => throw PmeErrors.keyNotFound(where, id, kms)
    case KeyState.Usable =>
      val now = parsed(calling(id, where, () => client.destroy(id)), where)
      if (!now.isGone)
        throw PmeErrors.kmsUnavailable(where, s"$kms still has key '$id' after it was destroyed")
      now
    case gone => gone
  }

  private def parsed(text: String, where: String): KeyState = text.split(" ", 2) match {
    case Array(USABLE) => KeyState.Usable
    case Array(MISSING) => KeyState.Missing
    case Array(DESTROYED) => KeyState.Destroyed
    case Array(SCHEDULED) => KeyState.Scheduled(None)
    case Array(SCHEDULED, until) => KeyState.Scheduled(Some(until))
    case _ => throw PmeErrors.kmsUnavailable(where, s"$kms gave a state of a key that is not known")
  }
}
