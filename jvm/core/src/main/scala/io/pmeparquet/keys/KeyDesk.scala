package io.pmeparquet.keys

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import io.pmeparquet.{AesKey, PmeErrors, PmeException, Secret}

/** The way from an executor to its driver. What implements it crosses the wire. */
trait KeyRoute extends Serializable {

  /** @throws io.pmeparquet.PmeException where the driver gives no answer */
  def ask(request: Array[Byte], where: String): Array[Byte]
}

/**
 * Where the executors of one scope get keys from: the driver's [[KmsSource]], by an id that nobody can guess.
 *
 * ''Crosses the wire'' within a scope, in place of a way to the KMS. Prints no id.
 */
final class KeyDesk private (
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

/** The desks of this driver. */
object KeyDesk {
  private val open = new ConcurrentHashMap[String, WeakReference[KeySource]]

  /** @param source to be kept by who opens the desk, for as long as keys are to be had at it */
  def open(source: KeySource, route: KeyRoute): KeyDesk = {
    val id = UUID.randomUUID().toString
    open.values.removeIf(_.get() == null)
    open.put(id, new WeakReference(source))
    new KeyDesk(new Secret(id), route, source.describe, source.instance)
  }

  /** The driver's side: what answers a request that came by the route. */
  def answer(message: Array[Byte]): Array[Byte] = {
    val (id, request) = KeyMessages.requestOf(message)
    val source = Option(open.get(id)).flatMap(found => Option(found.get()))
    def at[A](ask: KeySource => A): Either[PmeException, A] =
      try Right(ask(source.getOrElse(throw closed(request.where))))
      catch { case failed: PmeException => Left(failed) }
    request match {
      case KeyRequest.Unwrap(keys, where) =>
        KeyMessages.bytesOfKeys(
          at(_.unwrap(keys, where)).fold(failed => keys.map(_ => Left(failed)), identity)
        )
      case KeyRequest.Wrap(key, masterKeyId, where) =>
        KeyMessages.bytesOfText(at(_.wrap(key, masterKeyId, where)))
      case KeyRequest.Direct(keyId, where) => KeyMessages.bytesOfDirect(at(_.directKey(keyId, where)))
    }
  }

  private def closed(where: String) =
    PmeErrors.kmsUnavailable(where, "the driver no longer knows this read or write")
}
