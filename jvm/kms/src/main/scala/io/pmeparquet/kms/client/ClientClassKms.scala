package io.pmeparquet.parquet

import java.security.PrivilegedAction

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation
import org.apache.parquet.crypto.keytools.KmsClient
import org.apache.parquet.crypto.KeyAccessDeniedException

import io.pmeparquet.{AesKey, PmeErrors, PmeException, Secret}
import io.pmeparquet.keys.{KeyDesk, KeySource, KeystoreKms, Kms, KmsSettings, KmsSource, StaticKms}
import io.pmeparquet.keys.vault.VaultKms
import io.pmeparquet.kms.{IcebergKmsClient, KmsFailure, PythonKms}

/** Opens the KMS that settings describe. */
object KmsAccess {
  def open(settings: KmsSettings, conf: Configuration): Kms = settings match {
    case KmsSettings.Keystore(name, storeType, content, password, timeoutMillis) =>
      KeystoreKms.open(name, storeType, content.map(_.insecureBytes), password, timeoutMillis)
    case KmsSettings.Static(keys) => StaticKms.parse(keys)
    case KmsSettings.Vault(at) => new VaultKms(at)
    case client: KmsSettings.ClientClass => KmsClientKms.open(client, conf)
  }
}

/** How a scope comes by keys in a JVM that is not the one it was made in. ''Crosses the wire'' with it. */
private[parquet] sealed trait KeyAccess extends Serializable {
  def open(conf: Configuration, lifetimeMillis: Long): KeySource
}

private[parquet] object KeyAccess {

  /** `kms.callFrom=driver` */
  final case class AtDriver(desk: KeyDesk) extends KeyAccess {
    override def open(conf: Configuration, lifetimeMillis: Long): KeySource = desk
  }

  /** `kms.callFrom=executor` */
  final case class AtKms(settings: KmsSettings) extends KeyAccess {
    override def open(conf: Configuration, lifetimeMillis: Long): KeySource =
      new KmsSource(KmsAccess.open(settings, conf), lifetimeMillis)
  }
}

/** Any `org.apache.parquet.crypto.keytools.KmsClient`, as parquet-java's users write them, or one of Iceberg's kind. */
final class KmsClientKms private (
    client: KmsClient,
    settings: KmsSettings.ClientClass,
    user: UserGroupInformation,
    loader: ClassLoader
) extends Kms {
  override def describe: String = settings.title
  override def instanceId: String = settings.instanceId
  override def instanceUrl: String = settings.instanceUrl

  override def wrap(key: AesKey, masterKeyId: String, where: String): String = {
    val wrapped = asking(masterKeyId, where)(client.wrapKey(key.insecureBytes, masterKeyId))
    if (wrapped == null) throw PmeErrors.keyNotFound(where, masterKeyId, describe)
    wrapped
  }

  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey = {
    val bytes = asking(masterKeyId, where)(client.unwrapKey(wrapped, masterKeyId))
    if (bytes == null) throw PmeErrors.keyNotFound(where, masterKeyId, describe)
    AesKey.of(bytes, where)
  }

  // The interface has calls for one key only.
  override def wrapAll(
      keys: Seq[AesKey],
      masterKeyId: String,
      where: String
  ): Seq[Either[PmeException, String]] = Kms.atOnce(keys)(wrap(_, masterKeyId, where))

  override def unwrapAll(
      wrapped: Seq[String],
      masterKeyId: String,
      where: String
  ): Seq[Either[PmeException, AesKey]] = Kms.atOnce(wrapped)(unwrap(_, masterKeyId, where))

  override def directKey(id: String, where: String): Option[AesKey] = None

  private def asking[A](masterKeyId: String, where: String)(call: => A): A =
    try asOpened(call)
    catch {
      case ours: PmeException => throw ours
      case failed: RuntimeException => throw KmsClientKms.translate(failed, masterKeyId, where, describe)
    }

  /** Calls come on threads of ours, which are of whoever was there when they were made. */
  private def asOpened[A](call: => A): A = {
    val thread = Thread.currentThread()
    val before = thread.getContextClassLoader
    thread.setContextClassLoader(loader)
    try user.doAs(new PrivilegedAction[A] { override def run(): A = call })
    finally thread.setContextClassLoader(before)
  }
}

object KmsClientKms {
  def open(settings: KmsSettings.ClientClass, conf: Configuration): KmsClientKms = {
    val where = s"option kms: class ${settings.name}"
    val client = made(clientOf(settings, conf, where), settings, where) match {
      case kms: KmsClient => kms
      case other => IcebergKmsClient.of(other).getOrElse(throw noClient(settings))
    }
    try
      client.initialize(
        withHanded(settings, conf),
        settings.instanceId,
        settings.instanceUrl,
        settings.token.insecureValue
      )
    catch {
      case failed: RuntimeException => throw translate(failed, "(all)", where, settings.title)
    }
    new KmsClientKms(client, settings, UserGroupInformation.getCurrentUser, conf.getClassLoader)
  }

  /** The class, of which nothing has run: neither an initializer nor a constructor, before it is known to be a client. */
  private def clientOf(settings: KmsSettings.ClientClass, conf: Configuration, where: String): Class[_] = {
    val found =
      try Class.forName(settings.name, false, conf.getClassLoader)
      catch {
        case failed @ (_: ReflectiveOperationException | _: LinkageError) =>
          throw notLoaded(settings, where, failed)
      }
    if (!classOf[KmsClient].isAssignableFrom(found) && !IcebergKmsClient.isOne(found))
      throw noClient(settings)
    found
  }

  private def made(client: Class[_], settings: KmsSettings.ClientClass, where: String): Any =
    try client.getDeclaredConstructor().newInstance()
    catch {
      case failed @ (_: ReflectiveOperationException | _: LinkageError) =>
        throw notLoaded(settings, where, failed)
    }

  private def notLoaded(settings: KmsSettings.ClientClass, where: String, failed: Throwable): PmeException = {
    val elsewhere = settings.jar.fold("")(jar => s"; it is in the jar $jar, which is not brought along")
    PmeErrors.kmsUnavailable(
      where,
      s"it cannot be loaded (${failed.getClass.getSimpleName})$elsewhere",
      failed
    )
  }

  private def noClient(settings: KmsSettings.ClientClass): PmeException = PmeErrors.badOption(
    "kms",
    settings.name,
    s"a class that is a ${classOf[KmsClient].getName} or a ${IcebergKmsClient.InterfaceName}"
  )

  /** A configuration that is the client's alone: it may hold secrets, and nothing of a table's definition. */
  private def withHanded(settings: KmsSettings.ClientClass, conf: Configuration): Configuration =
    if (settings.handed.isEmpty && settings.withheld.isEmpty) conf
    else {
      val own = new Configuration(conf)
      settings.withheld.foreach {
        case (name, Some(value)) => own.set(name, value)
        case (name, None) => own.unset(name)
      }
      settings.handed.foreach { case (name, value) => own.set(name, value.insecureValue) }
      own
    }

  /** The interface knows one kind of refusal. What else it throws is told apart by its cause: no network, or no key. */
  private def translate(
      failed: RuntimeException,
      masterKeyId: String,
      where: String,
      kms: String
  ): PmeException = {
    val causes = PmeException.causes(failed)
    // Of a client of ours, which says all that there is to say.
    val ours = PmeException.find(failed)
    if (ours.isDefined) ours.get
    else if (causes.exists(_.isInstanceOf[KmsFailure]))
      ofOurClient(causes.collectFirst { case told: KmsFailure => told }.get, masterKeyId, where, kms)
    else if (causes.exists(_.isInstanceOf[KeyAccessDeniedException]))
      PmeErrors.keyDenied(where, masterKeyId, kms, failed)
    else if (causes.exists(_.isInstanceOf[javax.crypto.AEADBadTagException]))
      PmeErrors.wrappedKeyNotAuthentic(where, masterKeyId, failed)
    else if (causes.exists(_.isInstanceOf[PythonKms.Failed]))
      PmeErrors.kmsUnavailable(
        where,
        causes.collectFirst { case python: PythonKms.Failed => python.why }.get,
        failed
      )
    else if (causes.exists(_.isInstanceOf[java.io.IOException]))
      PmeErrors.kmsUnavailable(where, s"$kms could not be reached", failed)
    else PmeErrors.keyNotFound(where, masterKeyId, kms, failed)
  }

  private def ofOurClient(told: KmsFailure, masterKeyId: String, where: String, kms: String): PmeException =
    told.kind match {
      case KmsFailure.Kind.DENIED => PmeErrors.keyDenied(where, masterKeyId, kms, told)
      case KmsFailure.Kind.MISSING => PmeErrors.keyUnusable(where, masterKeyId, told.getMessage, told)
      case KmsFailure.Kind.NOT_AUTHENTIC =>
        PmeErrors.wrappedKeyRefused(where, masterKeyId, told.getMessage, told)
      case KmsFailure.Kind.UNAVAILABLE => PmeErrors.kmsUnavailable(where, told.getMessage, told)
      case KmsFailure.Kind.BAD_SETTING => PmeErrors.contradiction(told.option, told.getMessage, "Correct it.")
    }

  val DefaultToken: Secret = new Secret(KmsClient.KEY_ACCESS_TOKEN_DEFAULT)
}
