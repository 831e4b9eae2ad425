package io.pmeparquet.kms.client

import java.security.{PrivilegedAction, PublicKey}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation
import org.apache.parquet.crypto.keytools.KmsClient
import org.apache.parquet.crypto.KeyAccessDeniedException

import io.pmeparquet.{AesKey, PmeErrors, PmeException}
import io.pmeparquet.keys.{KeyAdministration, Kms, PublicKeys, SigningKey}

/** Any `org.apache.parquet.crypto.keytools.KmsClient`, as parquet-java's users write them, or one of Iceberg's kind. */
final class ClientClassKms private (
    client: KmsClient,
    settings: ClientClassSettings,
    user: UserGroupInformation,
    loader: ClassLoader
) extends Kms {
  override def describe: String = settings.title
  override def instanceId: String = settings.instanceId
  override def instanceUrl: String = settings.instanceUrl

  override def wrap(key: AesKey, masterKeyId: String, where: String): String = {
    val wrapped = calling(masterKeyId, where)(client.wrapKey(key.insecureBytes, masterKeyId))
    if (wrapped == null) throw PmeErrors.keyNotFound(where, masterKeyId, describe)
    wrapped
  }

  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey = {
    val bytes = calling(masterKeyId, where)(client.unwrapKey(wrapped, masterKeyId))
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

  override def signingKey(id: String, where: String): SigningKey = client match {
    case signer: SigningClient =>
      def found[A](answer: A) =
        if (answer == null) throw PmeErrors.keyNotFound(where, id, describe) else answer
      val pinned = found(calling(id, where)(signer.pinned(id)))
      val encoded = found(calling(id, where)(signer.publicKey(pinned)))
      val publicKey = PublicKeys.parse(encoded).getOrElse {
        throw PmeErrors.keyUnusable(where, id, s"in $describe it is not ${PublicKeys.Supported}")
      }
      new ClientSigningKey(
        pinned,
        describe,
        publicKey,
        (message, forWhat) => calling(id, forWhat)(signer.sign(message, pinned))
      )
    case _ => super.signingKey(id, where)
  }

  override def administration: Option[KeyAdministration] = client match {
    case administered: KeyAdministrationClient =>
      Some(
        new ClientAdministration(administered.keys, describe, (id, where, call) => calling(id, where)(call()))
      )
    case _ => None
  }

  private def calling[A](masterKeyId: String, where: String)(call: => A): A =
    try asUser(call)
    catch {
      case ours: PmeException => throw ours
      case failed @ (_: RuntimeException | _: LinkageError) =>
        throw ClientClassKms.translate(failed, masterKeyId, where, describe)
    }

  /** Calls come on threads of ours, which are of whoever was there when they were made. */
  private def asUser[A](call: => A): A = {
    val thread = Thread.currentThread()
    val before = thread.getContextClassLoader
    thread.setContextClassLoader(loader)
    try user.doAs(new PrivilegedAction[A] { override def run(): A = call })
    finally thread.setContextClassLoader(before)
  }
}

object ClientClassKms {
  def open(settings: ClientClassSettings, conf: Configuration): ClientClassKms = {
    val where = s"option kms: class ${settings.name}"
    val client = made(clientOf(settings, conf, where), settings, where) match {
      case kms: KmsClient => kms
      case other => IcebergClient.of(other).getOrElse(throw noClient(settings))
    }
    try
      client.initialize(
        ownConfiguration(settings, conf),
        settings.instanceId,
        settings.instanceUrl,
        settings.token.insecureValue
      )
    catch {
      case failed @ (_: RuntimeException | _: LinkageError) =>
        throw translate(failed, "(all)", where, settings.title)
    }
    new ClientClassKms(client, settings, UserGroupInformation.getCurrentUser, conf.getClassLoader)
  }

  /** The class. No initializer and no constructor has run, because it may not be a client. */
  private def clientOf(settings: ClientClassSettings, conf: Configuration, where: String): Class[_] = {
    val found =
      try Class.forName(settings.name, false, conf.getClassLoader)
      catch {
        case failed @ (_: ReflectiveOperationException | _: LinkageError) =>
          throw notLoaded(settings, where, failed)
      }
    if (!classOf[KmsClient].isAssignableFrom(found) && !IcebergClient.isOne(found))
      throw noClient(settings)
    found
  }

  private def made(client: Class[_], settings: ClientClassSettings, where: String): Any =
    try client.getDeclaredConstructor().newInstance()
    catch {
      case failed @ (_: ReflectiveOperationException | _: LinkageError) =>
        throw notLoaded(settings, where, failed)
    }

  private def notLoaded(settings: ClientClassSettings, where: String, failed: Throwable): PmeException = {
    val elsewhere = settings.jar.fold("")(jar => s"; it is in the jar $jar, which is not on the class path")
    PmeErrors.kmsClassMissing(
      where,
      s"the class cannot be loaded (${failed.getClass.getSimpleName})$elsewhere",
      failed
    )
  }

  private def noClient(settings: ClientClassSettings): PmeException = PmeErrors.badOption(
    "kms",
    settings.name,
    s"a class that is a ${classOf[KmsClient].getName} or a ${IcebergClient.InterfaceName}"
  )

  /** A configuration that is the client's alone: it may hold secrets, and nothing of a table's definition. */
  private def ownConfiguration(settings: ClientClassSettings, conf: Configuration): Configuration =
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

  /** The interface knows one kind of refusal. What else it throws shows by its cause: no class, no network, or no key. */
  private def translate(
      failed: Throwable,
      masterKeyId: String,
      where: String,
      kms: String
  ): PmeException = {
    val causes = PmeException.causes(failed)
    // Of a client of ours, which has said all there is to say.
    val ours = PmeException.find(failed)
    if (ours.isDefined) ours.get
    else if (causes.exists(_.isInstanceOf[KmsFailure]))
      ofOurClient(causes.collectFirst { case failure: KmsFailure => failure }.get, masterKeyId, where, kms)
    else if (causes.exists(_.isInstanceOf[KeyAccessDeniedException]))
      PmeErrors.keyDenied(where, masterKeyId, kms, failed)
    else if (causes.exists(_.isInstanceOf[javax.crypto.AEADBadTagException]))
      PmeErrors.wrappedKeyNotAuthentic(where, masterKeyId, failed)
    else if (causes.exists(_.isInstanceOf[LinkageError])) {
      // Only this one's text is the JVM's. That of what wraps it is the client's, which may repeat a secret.
      val missing = causes.collectFirst { case missing: LinkageError => missing }.get
      PmeErrors.kmsClassMissing(where, s"a class that $kms needs cannot be loaded ($missing)", failed)
    } else if (causes.exists(_.isInstanceOf[java.io.IOException]))
      PmeErrors.kmsUnavailable(where, s"$kms could not be reached", failed)
    else PmeErrors.keyNotFound(where, masterKeyId, kms, failed)
  }

  private def ofOurClient(failed: KmsFailure, masterKeyId: String, where: String, kms: String): PmeException =
    failed.kind match {
      case KmsFailure.Kind.DENIED => PmeErrors.keyDenied(where, masterKeyId, kms, failed)
      case KmsFailure.Kind.MISSING => PmeErrors.keyUnusable(where, masterKeyId, failed.getMessage, failed)
      case KmsFailure.Kind.DESTROYED => PmeErrors.keyScheduled(where, masterKeyId, failed.getMessage, failed)
      case KmsFailure.Kind.NOT_AUTHENTIC =>
        PmeErrors.wrappedKeyRefused(where, masterKeyId, failed.getMessage, failed)
      case KmsFailure.Kind.UNAVAILABLE => PmeErrors.kmsUnavailable(where, failed.getMessage, failed)
      case KmsFailure.Kind.BAD_SETTING =>
        PmeErrors.contradiction(failed.option, failed.getMessage, "Correct this setting.")
    }
}

/**
 * A key that a [[SigningClient]] signs with.
 *
 * @param signed calls the client
 */
private[client] final class ClientSigningKey(
    id: String,
    client: String,
    override val publicKey: PublicKey,
    signed: (Array[Byte], String) => Array[Byte]
) extends SigningKey {
  override val algorithm: String = PublicKeys.algorithmOf(publicKey).get

  override def describe: String = s"key '$id' of $client"

  override def sign(message: Array[Byte], where: String): Array[Byte] = {
    val signature = signed(message, where)
    if (signature == null || !PublicKeys.verifies(publicKey, message, signature))
      throw PmeErrors.kmsUnavailable(where, s"a signature by $describe does not match its public key")
    signature
  }
}
