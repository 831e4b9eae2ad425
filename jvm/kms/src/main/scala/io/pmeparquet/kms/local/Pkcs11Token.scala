package io.pmeparquet.kms.local

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.security._
import java.util
import java.util.concurrent.{Callable, ExecutionException, FutureTask, Semaphore, TimeUnit, TimeoutException}
import javax.security.auth.callback.{Callback, CallbackHandler, PasswordCallback}
import javax.security.auth.login.LoginException

import scala.collection.mutable

import io.pmeparquet.{PmeErrors, PmeException, RecentValues, Secret}

/**
 * A PKCS#11 token (an HSM, a smart card, SoftHSM), through the JVM's SunPKCS11 provider. Keys stay in the token, which
 * encrypts with them. If it hangs, calls fail after a time limit, and other tokens are not affected.
 *
 * A process is logged in to a token as a whole, and a token accepts any PIN from a process that is already logged in. So the
 * accepted PIN is kept here, and another one is refused.
 *
 * @param configured creates the provider for a token of that name
 */
private[kms] final class Pkcs11Token private (configured: String => Provider, now: () => Long) {
  import Pkcs11Token._

  // One at a time: of two concurrent logins, the second would succeed with any PIN.
  private val openings = new LimitedCalls("the token", most = 1, now)
  private val uses = new LimitedCalls("the token", MostUses, now)

  // Used while opening, one after the other.
  private var provider = Option.empty[Provider]
  private var admitted = Option.empty[Secret]
  private var refused = Option.empty[Refused]

  private def open(name: String, pin: Secret, timeoutMillis: Long): Opened = {
    val where = s"keystore $name"
    new Opened(openings(where, timeoutMillis)(opened(name, where, pin)), uses, timeoutMillis)
  }

  private def opened(name: String, where: String, pin: Secret): KeyStore = {
    def unusable(why: String, cause: Throwable = null) = PmeErrors.kmsUnavailable(where, why, cause)
    // A token locks itself after too many attempts with a wrong PIN.
    refused
      .filter(old => old.pin == pin && now() < old.until)
      .foreach(old => throw old.failure.movedTo(where, from = old.where))
    try provider = provider.orElse(Some(configured(name)))
    catch {
      case failed @ (_: InvalidParameterException | _: ProviderException |
          _: UnsupportedOperationException) =>
        throw unusable("it is not a SunPKCS11 configuration that leads to a token", failed)
    }
    val login = new Login(pin)
    val keystore =
      try {
        val store = KeyStore.getInstance(KeystoreType, provider.get)
        store.load(new ByLogin(login))
        store
      } catch {
        case failed: IOException if failed.getCause.isInstanceOf[LoginException] =>
          val failure = unusable("the token does not accept the PIN", failed)
          refused = Some(Refused(pin, failure, where, now() + LimitedCalls.ToldMillis))
          throw failure
        case failed @ (_: IOException | _: GeneralSecurityException | _: ProviderException) =>
          throw unusable(s"the token cannot be opened (${failed.getClass.getSimpleName})", failed)
      }
    if (login.wasAsked) admitted = Some(pin)
    else if (!admitted.contains(pin))
      throw unusable(
        "this process is logged in to the token with another PIN, or through another configuration"
      )
    keystore
  }
}

private[kms] object Pkcs11Token {
  val KeystoreType = "PKCS11"

  /** Concurrent calls of a token, and so the most threads that can hang. */
  private val MostUses = 8

  /** @param uses calls of the token, apart from opening it */
  final class Opened(val keystore: KeyStore, uses: LimitedCalls, timeoutMillis: Long) {
    def use[A](where: String)(call: => A): A = uses(where, timeoutMillis)(call)
  }

  // A process loads a library once and does not unload it.
  private val byConfiguration = mutable.Map.empty[String, Pkcs11Token]
  private val byProvider = new util.IdentityHashMap[Provider, Pkcs11Token]

  /**
   * @param name the name of the token in messages
   * @param configuration of SunPKCS11; without one, an installed provider is used
   * @param timeoutMillis time limit of one call of the token
   */
  def open(
      name: String,
      configuration: Option[Array[Byte]],
      pin: Secret,
      timeoutMillis: Long,
      now: () => Long = RecentValues.monotonicMillis
  ): Opened = of(configuration, now).open(name, pin, timeoutMillis)

  private def of(configuration: Option[Array[Byte]], now: () => Long): Pkcs11Token = synchronized {
    configuration.map(new String(_, UTF_8)) match {
      case Some(text) =>
        def configured(name: String) = bare(name).configure(InlineMark + text)
        byConfiguration.getOrElseUpdate(text, new Pkcs11Token(configured(_), now))
      case None => byProvider.computeIfAbsent(installed(), provider => new Pkcs11Token(_ => provider, now))
    }
  }

  private def installed(): Provider =
    try KeyStore.getInstance(KeystoreType).getProvider
    catch {
      case failed: KeyStoreException =>
        throw PmeErrors.unsupported(
          "option kms.keystore.type",
          s"'$KeystoreType' without kms.keystore.path",
          s"the JVM has no SunPKCS11 provider installed (${failed.getClass.getSimpleName})",
          "Name its configuration with spark.datasource.pme-parquet.kms.keystore.path, or install it in java.security."
        )
    }

  private def bare(name: String): Provider = Option(Security.getProvider("SunPKCS11")).getOrElse {
    throw PmeErrors.kmsUnavailable(s"keystore $name", "this JVM does not have the SunPKCS11 provider")
  }

  /** The prefix by which SunPKCS11 recognizes a configuration and not the name of a file. */
  private val InlineMark = "--"

  /** A PIN that the token refused; calls with it fail at once for a while. */
  private final case class Refused(pin: Secret, failure: PmeException, where: String, until: Long)

  private final class Login(pin: Secret) extends CallbackHandler {
    var wasAsked = false

    override def handle(callbacks: Array[Callback]): Unit = callbacks.foreach {
      case question: PasswordCallback =>
        wasAsked = true
        question.setPassword(pin.insecureValue.toCharArray)
      case _ => ()
    }
  }

  private final class ByLogin(login: Login) extends KeyStore.LoadStoreParameter {
    override def getProtectionParameter: KeyStore.ProtectionParameter =
      new KeyStore.CallbackHandlerProtection(login)
  }
}

/**
 * Calls that may hang in native code, which cannot be interrupted. Each has its own thread, which is abandoned after the
 * time limit. For ten seconds after that, all calls fail at once. A hanging call keeps its place among `most`, so at most
 * that many threads hang.
 *
 * @param what the beginning of a sentence: "… gave no answer within 30 s"
 */
private[kms] final class LimitedCalls(
    what: String,
    most: Int,
    now: () => Long = RecentValues.monotonicMillis
) {
  import LimitedCalls._

  private val places = new Semaphore(most)
  @volatile private var toldUntil = Long.MinValue

  /** @param where what the call is for, for messages */
  def apply[A](where: String, timeoutMillis: Long)(call: => A): A = {
    def late(cause: Throwable) = PmeErrors.kmsUnavailable(
      where,
      s"$what gave no answer within ${timeoutMillis / 1000} s (kms.timeoutSeconds)",
      cause
    )
    if (now() < toldUntil) throw late(null)
    try inTime(timeoutMillis)(call)
    catch {
      case slow: TimeoutException =>
        toldUntil = now() + ToldMillis
        throw late(slow)
      case interrupted: InterruptedException =>
        Thread.currentThread().interrupt()
        throw PmeErrors.kmsUnavailable(where, s"waiting for $what was interrupted", interrupted)
    }
  }

  private def inTime[A](millis: Long)(call: => A): A = {
    val end = now() + millis
    if (!places.tryAcquire(millis, TimeUnit.MILLISECONDS)) throw new TimeoutException
    val task = new FutureTask[A]((() => call): Callable[A])
    val thread = new Thread(
      () =>
        try task.run()
        finally places.release(),
      "pme-parquet-token"
    )
    thread.setDaemon(true)
    thread.start()
    try task.get((end - now()).max(0), TimeUnit.MILLISECONDS)
    catch { case failed: ExecutionException => throw failed.getCause }
    finally {
      task.cancel(true)
      ()
    }
  }
}

private[kms] object LimitedCalls {

  /** As long as a failed login is cached, too. */
  val ToldMillis = 10000L
}
