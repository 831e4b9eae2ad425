package io.pmeparquet.keys

import io.pmeparquet.{AesKey, PmeException, Secret}

/** The way from an executor to its driver. Implementations cross the wire. */
trait KeyRoute extends Serializable {

  /** @throws io.pmeparquet.PmeException if the driver gives no answer */
  def ask(request: Array[Byte], where: String): Array[Byte]
}

/**
 * Where the executors of one scope get keys: the driver's [[KmsSource]], addressed by an id that nobody can guess. On
 * the driver [[KeyDesks]] answers.
 *
 * ''Crosses the wire'' within a scope, instead of a way to the KMS. Prints no id.
 */
final class KeyDesk private[keys] (
    private[keys] val id: Secret,
    route: KeyRoute,
    override val describe: String,
    val instance: (String, String)
) extends KeySource
    with KekSource
    with Serializable {
  import KeyRequest._

  override def unwrap(keys: Seq[WrappedKey], where: String): Seq[Either[PmeException, LentKey]] =
    KeyMessages.keysOf(ask(Unwrap(keys, where)), keys.size, where)

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    KeyMessages.textOf(ask(Wrap(key, masterKeyId, where))).fold(failed => throw failed, identity)

  override def directKey(keyId: String, where: String): Option[AesKey] =
    KeyMessages.directOf(ask(Direct(keyId, where)), where).fold(failed => throw failed, identity)

  override def kek(masterKeyId: String, bits: Int, where: String): LentKek =
    KeyMessages.kekOf(ask(Kek(masterKeyId, bits, where)), where).fold(failed => throw failed, identity)

  private def ask(request: KeyRequest) =
    route.ask(KeyMessages.bytesOf(id.insecureValue, request), request.where)

  override def toString: String = s"KeyDesk($describe)"
}

object KeyDesk {

  /** What another process of the application needs to use a desk, or why there is none. It holds the desk's id. */
  def handedOver(desk: Either[PmeException, Option[KeyDesk]]): Array[Byte] = KeyMessages.bytesOfDesk(desk)

  /** @param route from this process to the desk */
  def taken(message: Array[Byte], route: KeyRoute): Either[PmeException, Option[KeyDesk]] =
    KeyMessages.deskOf(message, route)
}
