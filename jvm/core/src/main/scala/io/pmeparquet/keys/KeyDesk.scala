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

/**
 * What is given out at a desk: no more than its read or write has a use for, whatever an executor asks. ''Driver only.''
 *
 * @param unwraps whether keys are unwrapped
 * @param wraps under which master keys keys are wrapped
 * @param direct which master keys are given out themselves
 */
final case class KeyGrants(unwraps: Boolean, wraps: String => Boolean, direct: String => Boolean)

object KeyGrants {
  private val none: String => Boolean = _ => false

  def toRead(direct: String => Boolean): KeyGrants = KeyGrants(unwraps = true, none, direct)

  /** @param masterKeys of the write */
  def toWrite(masterKeys: Seq[String], areDirect: Boolean): KeyGrants = {
    val own: String => Boolean = masterKeys.contains(_)
    KeyGrants(unwraps = false, if (areDirect) none else own, if (areDirect) own else none)
  }
}

/** The desks of this driver. */
object KeyDesk {
  private final class Open(source: KeySource, val grants: KeyGrants) {
    private val reference = new WeakReference(source)
    def found: Option[KeySource] = Option(reference.get())
  }

  private val open = new ConcurrentHashMap[String, Open]

  /** @param source to be kept by who opens the desk, for as long as keys are to be had at it */
  def open(source: KeySource, route: KeyRoute, grants: KeyGrants): KeyDesk = {
    val id = UUID.randomUUID().toString
    open.values.removeIf(_.found.isEmpty)
    open.put(id, new Open(source, grants))
    new KeyDesk(new Secret(id), route, source.describe, source.instance)
  }

  /** The driver's side: what answers a request that came by the route. */
  def answer(message: Array[Byte]): Array[Byte] = {
    val (id, request) = KeyMessages.requestOf(message)
    val desk = Option(open.get(id))
    def at[A](isGranted: KeyGrants => Boolean, refusal: => PmeException)(
        ask: KeySource => A
    ): Either[PmeException, A] =
      try {
        val source = desk.flatMap(_.found).getOrElse(throw closed(request.where))
        if (!desk.exists(one => isGranted(one.grants))) throw refusal
        Right(ask(source))
      } catch { case failed: PmeException => Left(failed) }
    def refused(what: String) = PmeErrors.keyRequestRefused(request.where, what)
    request match {
      case KeyRequest.Unwrap(keys, where) =>
        KeyMessages.bytesOfKeys(
          at(_.unwraps, refused("to unwrap keys"))(_.unwrap(keys, where))
            .fold(failed => keys.map(_ => Left(failed)), identity)
        )
      case KeyRequest.Wrap(key, id, where) =>
        KeyMessages.bytesOfText(at(_.wraps(id), refused(s"to wrap a key with '$id'"))(_.wrap(key, id, where)))
      case KeyRequest.Direct(keyId, where) =>
        KeyMessages.bytesOfDirect(
          at(_.direct(keyId), PmeErrors.directKeyRefused(where, keyId))(_.directKey(keyId, where))
        )
    }
  }

  private def closed(where: String) =
    PmeErrors.kmsUnavailable(where, "the driver no longer knows this read or write")
}
