package io.pmeparquet.keys

/**
 * What a KMS can do with its master keys, beside wrapping with them. Each call asks the KMS, and nothing is cached.
 * Failures are those of [[Kms]]. ''Driver only.''
 */
trait KeyAdministration {

  def state(id: String, where: String): KeyState

  /** The states of several keys, in as few calls as possible. */
  def states(ids: Seq[String], where: String): Map[String, KeyState] =
    ids.map(id => id -> state(id, where)).toMap

  /**
   * The name of the key itself, with the place in which the KMS has it, where ids do not say that. Several ids can lead
   * to one key: aliases, letters of either case. Destroying one of them destroys the key of all.
   */
  def nameOf(id: String, where: String): String

  /** The names of several keys, in as few calls as possible. */
  def namesOf(ids: Seq[String], where: String): Map[String, String] =
    ids.map(id => id -> nameOf(id, where)).toMap

  /**
   * Creates random keys that wrap.
   *
   * @param ids of keys whose state is [[KeyState.Missing]]
   * @throws io.pmeparquet.PmeException if the KMS has, or has destroyed, a key of such a name; then none is made, where the
   *   KMS can do that
   */
  def create(ids: Seq[String], where: String): Unit

  /**
   * Destroys a key, or schedules that. For a key that is destroyed or scheduled already, this does nothing.
   *
   * @return what the key is now: never [[KeyState.Usable]] or [[KeyState.Missing]]
   * @throws io.pmeparquet.PmeException `PME_KEY_NOT_FOUND` for a key that the KMS does not know
   */
  def destroy(id: String, where: String): KeyState

  /** Whether the KMS says [[KeyState.Missing]] of keys that it destroyed. */
  def forgets: Boolean = false

  /** When a destroyed key is gone, and who can bring it back until then, as a clause. */
  def consequence: String
}

/** What a KMS says of a master key. */
sealed abstract class KeyState(val name: String) {

  /** Whether nobody can use the key. */
  def isGone: Boolean = this match {
    case KeyState.Usable | KeyState.Missing => false
    case _ => true
  }
}

object KeyState {

  /** The KMS has it. It may be disabled: whoever owns it can enable it. */
  case object Usable extends KeyState("usable")

  /** The KMS does not know the name. Some KMSs forget keys that were destroyed. */
  case object Missing extends KeyState("missing")

  case object Destroyed extends KeyState("destroyed")

  /** @param until when it will be destroyed, in the KMS's words; none if the KMS does not say */
  final case class Scheduled(until: Option[String]) extends KeyState("scheduled")
}
