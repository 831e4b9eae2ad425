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
    id: Secret,
    route: KeyRoute,
    override val describe: String,
    val instance: (String, String)
) extends KeySource
    with Serializable {
  import KeyRequest._

  override def unwrap(keys: Seq[WrappedKey], where: String): Seq[Either[PmeException, LentKey]] =
    KeyMessages.keysOf(ask(Unwrap(keys, where)), keys.size, where)

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    KeyMessages.textOf(ask(Wrap(key, masterKeyId, where))).fold(failed => throw failed, identity)

  override def directKey(keyId: String, where: String): Option[AesKey] =
    KeyMessages.directOf(ask(Direct(keyId, where)), where).fold(failed => throw failed, identity)

  private def ask(request: KeyRequest) =
    route.ask(KeyMessages.bytesOf(id.insecureValue, request), request.where)

  override def toString: String = s"KeyDesk($describe)"
}
