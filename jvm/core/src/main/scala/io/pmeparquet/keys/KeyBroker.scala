package io.pmeparquet.keys

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import io.pmeparquet.{AesKey, PmeErrors, PmeException, Secret}

/** The way from an executor to its driver. Implementations cross the wire. */
trait KeyRoute extends Serializable {

  /** @throws io.pmeparquet.PmeException if the driver gives no answer */
  def ask(request: Array[Byte], where: String): Array[Byte]
}

/**
 * Where the executors of one scope get keys: the driver's [[KmsSource]], addressed by an id that nobody can guess. On
 * the driver [[KeyBrokers]] answers.
 *
 * ''Crosses the wire'' within a scope, instead of a way to the KMS. Prints no id.
 */
final class KeyBroker private[keys] (
    private[keys] val id: Secret,
    route: KeyRoute,
    override val describe: String,
    val instance: (String, String)
) extends KeySource
    with KekSource
    with Serializable {
  import KeyRequest._

  override def unwrap(keys: Seq[WrappedKey], where: String): Seq[Either[PmeException, IssuedKey]] =
    KeyRequestCodec.keysOf(ask(Unwrap(keys, where)), keys.size, where)

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    KeyRequestCodec.textOf(ask(Wrap(key, masterKeyId, where))).fold(failed => throw failed, identity)

  override def directKey(keyId: String, where: String): Option[AesKey] =
    KeyRequestCodec.directOf(ask(Direct(keyId, where)), where).fold(failed => throw failed, identity)

  override def reserve(id: String, uses: Long, where: String): Unit =
    KeyRequestCodec.textOf(ask(Reserve(id, uses, where))).fold(failed => throw failed, _ => ())

  override def kek(masterKeyId: String, bits: Int, where: String): IssuedKek =
    KeyRequestCodec.kekOf(ask(Kek(masterKeyId, bits, where)), where).fold(failed => throw failed, identity)

  private def ask(request: KeyRequest) =
    route.ask(KeyRequestCodec.bytesOf(id.insecureValue, request), request.where)

  override def toString: String = s"KeyBroker($describe)"
}

object KeyBroker {

  /** What another process of the application needs to use a broker, or why there is none. It holds the broker's id. */
  def handedOver(broker: Either[PmeException, Option[KeyBroker]]): Array[Byte] =
    KeyRequestCodec.bytesOfBroker(broker.map(_.map(one => BrokerAddress(one.id, one.describe, one.instance))))

  /** @param route from this process to the broker */
  def taken(message: Array[Byte], route: KeyRoute): Either[PmeException, Option[KeyBroker]] =
    KeyRequestCodec.brokerOf(message).map(_.map(at => new KeyBroker(at.id, route, at.describe, at.instance)))
}

/**
 * The way to a process of the same application that calls the KMS for the others, and knows their configurations. The
 * engine's layer implements it, and Java's `ServiceLoader` finds it, since parquet-java makes our crypto factory where
 * nobody hands it anything.
 */
trait ConfigurationRoute {

  /**
   * The broker for those who have this configuration; none if this engine has no such process here, or if the process
   * knows no such configuration.
   *
   * @param request a digest of what a KMS could look at, and which generation of keys new files are to have
   * @throws io.pmeparquet.PmeException if the process knows the configuration and cannot open its KMS, or does not
   *   answer
   */
  def broker(request: String): Option[KeyBroker]

  /** Whether this is a process of an application whose KMS another one calls. */
  def isWorker: Boolean

  /** The values of an option of ours that the application started with. */
  def ofApplication(option: String): Seq[String]
}

/**
 * What a broker gives out: no more than its read or write needs, whatever an executor asks. ''Driver only.''
 *
 * @param unwraps whether it unwraps keys
 * @param wraps the master keys that may wrap keys
 * @param direct the master keys that it gives out themselves
 * @param makes the master keys that it makes key-encryption keys under
 */
final case class KeyGrants(
    unwraps: Boolean,
    wraps: String => Boolean,
    direct: String => Boolean,
    makes: String => Boolean
)

object KeyGrants {
  private val none: String => Boolean = _ => false

  /** To executors that read and write with what a Hadoop configuration says. Tables of the user name the master keys. */
  val toConfiguration: KeyGrants = KeyGrants(unwraps = true, _ => true, none, _ => true)

  def toRead(direct: String => Boolean): KeyGrants = KeyGrants(unwraps = true, none, direct, none)

  /** To a batch of a stream, whose tasks find out which of these master keys they need. */
  def toBatch(masterKeys: String => Boolean): KeyGrants = KeyGrants(unwraps = false, none, none, masterKeys)

  /** @param masterKeys of the write */
  def toWrite(masterKeys: Set[String], areDirect: Boolean): KeyGrants = {
    val own: String => Boolean = masterKeys
    KeyGrants(unwraps = false, if (areDirect) none else own, if (areDirect) own else none, none)
  }
}

/** The register of this driver's brokers: opens them, and answers the requests of executors. ''Driver only.'' */
object KeyBrokers {
  private final class Opened(source: KeySource, val grants: KeyGrants, keks: Option[KekSource]) {
    private val reference = new WeakReference(source)
    private val maker = keks.map(new WeakReference(_))
    def found: Option[KeySource] = Option(reference.get())
    def keksFound: Option[KekSource] = maker.flatMap(one => Option(one.get()))
  }

  private val open = new ConcurrentHashMap[String, Opened]

  /**
   * @param source the opener keeps it for as long as the broker must answer
   * @param keks makes the key-encryption keys of writes that only executors know; the opener keeps it, too
   */
  def open(
      source: KeySource,
      route: KeyRoute,
      grants: KeyGrants,
      keks: Option[KekSource] = None
  ): KeyBroker = {
    val id = UUID.randomUUID().toString
    open.values.removeIf(_.found.isEmpty)
    open.put(id, new Opened(source, grants, keks))
    new KeyBroker(new Secret(id), route, source.describe, source.instance)
  }

  /** The driver's side: answers a request that arrived through the route. */
  def answer(message: Array[Byte]): Array[Byte] = {
    val (id, request) = KeyRequestCodec.requestOf(message)
    val broker = Option(open.get(id))
    def at[A](isGranted: KeyGrants => Boolean, refusal: => PmeException)(
        ask: KeySource => A
    ): Either[PmeException, A] =
      try {
        val source = broker.flatMap(_.found).getOrElse(throw closed(request.where))
        if (!broker.exists(one => isGranted(one.grants))) throw refusal
        Right(ask(source))
      } catch { case failed: PmeException => Left(failed) }
    def refused(what: String) = PmeErrors.keyRequestRefused(request.where, what)
    request match {
      case KeyRequest.Unwrap(keys, where) =>
        KeyRequestCodec.bytesOfKeys(
          at(_.unwraps, refused("a request to unwrap keys"))(_.unwrap(keys, where))
            .fold(failed => keys.map(_ => Left(failed)), identity)
        )
      case KeyRequest.Wrap(key, id, where) =>
        KeyRequestCodec.bytesOfText(
          at(_.wraps(id), refused(s"a request to wrap a key with '$id'"))(_.wrap(key, id, where))
        )
      case KeyRequest.Direct(keyId, where) =>
        KeyRequestCodec.bytesOfDirect(
          at(_.direct(keyId), PmeErrors.directKeyRefused(where, keyId))(_.directKey(keyId, where))
        )
      case KeyRequest.Reserve(keyId, uses, where) =>
        KeyRequestCodec.bytesOfText(at(_.direct(keyId), PmeErrors.directKeyRefused(where, keyId)) { source =>
          if (uses <= 0 || uses > KeyUses.MostAtOnce) throw refused(s"a request for $uses uses of a key")
          source.reserve(keyId, uses, where)
          ""
        })
      case KeyRequest.Kek(id, bits, where) =>
        val maker = broker.flatMap(_.keksFound)
        KeyRequestCodec.bytesOfKek(
          at(one => maker.isDefined && one.makes(id), refused(s"a request for a key that '$id' wraps"))(_ =>
            maker.get.kek(id, bits, where)
          )
        )
    }
  }

  private def closed(where: String) =
    PmeErrors.kmsUnavailable(where, "this read or write has ended, or the driver has restarted")
}
