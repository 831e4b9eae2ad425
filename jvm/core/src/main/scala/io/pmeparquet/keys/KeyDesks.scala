package io.pmeparquet.keys

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import io.pmeparquet.{PmeErrors, PmeException, Secret}

/**
 * What a desk gives out: no more than its read or write needs, whatever an executor asks. ''Driver only.''
 *
 * @param unwraps whether it unwraps keys
 * @param wraps the master keys that may wrap keys
 * @param direct the master keys that it gives out themselves
 */
final case class KeyGrants(unwraps: Boolean, wraps: String => Boolean, direct: String => Boolean)

object KeyGrants {
  private val none: String => Boolean = _ => false

  /** To executors that read and write with what a Hadoop configuration says. Tables of the user name the master keys. */
  val toConfiguration: KeyGrants = KeyGrants(unwraps = true, _ => true, none)

  def toRead(direct: String => Boolean): KeyGrants = KeyGrants(unwraps = true, none, direct)

  /** @param masterKeys of the write */
  def toWrite(masterKeys: Seq[String], areDirect: Boolean): KeyGrants = {
    val own: String => Boolean = masterKeys.contains(_)
    KeyGrants(unwraps = false, if (areDirect) none else own, if (areDirect) own else none)
  }
}

/** The register of this driver's desks: opens them, and answers the requests of executors. ''Driver only.'' */
object KeyDesks {
  private final class Opened(source: KeySource, val grants: KeyGrants, keks: Option[KekSource]) {
    private val reference = new WeakReference(source)
    private val maker = keks.map(new WeakReference(_))
    def found: Option[KeySource] = Option(reference.get())
    def keksFound: Option[KekSource] = maker.flatMap(one => Option(one.get()))
  }

  private val open = new ConcurrentHashMap[String, Opened]

  /**
   * @param source the opener keeps it for as long as the desk must answer
   * @param keks makes the key-encryption keys of writes that only executors know; the opener keeps it, too
   */
  def open(
      source: KeySource,
      route: KeyRoute,
      grants: KeyGrants,
      keks: Option[KekSource] = None
  ): KeyDesk = {
    val id = UUID.randomUUID().toString
    open.values.removeIf(_.found.isEmpty)
    open.put(id, new Opened(source, grants, keks))
    new KeyDesk(new Secret(id), route, source.describe, source.instance)
  }

  /** The driver's side: answers a request that arrived through the route. */
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
          at(_.unwraps, refused("a request to unwrap keys"))(_.unwrap(keys, where))
            .fold(failed => keys.map(_ => Left(failed)), identity)
        )
      case KeyRequest.Wrap(key, id, where) =>
        KeyMessages.bytesOfText(
          at(_.wraps(id), refused(s"a request to wrap a key with '$id'"))(_.wrap(key, id, where))
        )
      case KeyRequest.Direct(keyId, where) =>
        KeyMessages.bytesOfDirect(
          at(_.direct(keyId), PmeErrors.directKeyRefused(where, keyId))(_.directKey(keyId, where))
        )
      case KeyRequest.Kek(id, bits, where) =>
        val maker = desk.flatMap(_.keksFound)
        KeyMessages.bytesOfKek(
          at(one => maker.isDefined && one.wraps(id), refused(s"a request for a key that '$id' wraps"))(_ =>
            maker.get.kek(id, bits, where)
          )
        )
    }
  }

  private def closed(where: String) =
    PmeErrors.kmsUnavailable(where, "this read or write has ended, or the driver has restarted")
}
