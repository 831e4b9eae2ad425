package io.pmeparquet.keys

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.security._
import java.util
import javax.security.auth.callback.{Callback, CallbackHandler, PasswordCallback}
import javax.security.auth.login.LoginException

import scala.collection.mutable

import io.pmeparquet.{PmeErrors, Secret}

/**
 * The keys of a PKCS#11 token (an HSM, a smart card, SoftHSM), through the JVM's provider SunPKCS11. Keys stay in the
 * token, which encrypts with them.
 *
 * A process is logged in to a token as a whole, and a token that it is logged in to takes any PIN. So the PIN that was let
 * in is kept here, and another one is refused.
 */
private[keys] object Pkcs11Token {
  val KeystoreType = "PKCS11"

  // A library is loaded once in a process, and stays.
  private val providers = mutable.Map.empty[String, Provider]
  private val pins = new util.IdentityHashMap[Provider, Secret]

  /**
   * @param name what messages call the token
   * @param configuration of SunPKCS11; without one, an installed provider is taken
   */
  def open(name: String, configuration: Option[Array[Byte]], pin: Secret): KeyStore = synchronized {
    def unusable(why: String, cause: Throwable = null) =
      PmeErrors.kmsUnavailable(s"keystore $name", why, cause)
    val provider =
      try configuration.fold(installed())(configured(name, _))
      catch {
        case failed @ (_: InvalidParameterException | _: ProviderException |
            _: UnsupportedOperationException) =>
          throw unusable("it is no configuration of SunPKCS11 that leads to a token", failed)
      }
    val login = new Login(pin)
    val keystore =
      try {
        val store = KeyStore.getInstance(KeystoreType, provider)
        store.load(new ByLogin(login))
        store
      } catch {
        case failed: IOException if failed.getCause.isInstanceOf[LoginException] =>
          throw unusable("the token does not take its PIN", failed)
        case failed @ (_: IOException | _: GeneralSecurityException | _: ProviderException) =>
          throw unusable(s"the token cannot be opened (${failed.getClass.getSimpleName})", failed)
      }
    if (login.wasAsked) pins.put(provider, pin)
    else if (pins.get(provider) != pin)
      throw unusable(
        "this process is logged in to the token with another PIN, or through another configuration"
      )
    keystore
  }

  private def configured(name: String, configuration: Array[Byte]): Provider = {
    val text = new String(configuration, UTF_8)
    providers.getOrElseUpdate(text, bare(name).configure(InlineMark + text))
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
    throw PmeErrors.kmsUnavailable(s"keystore $name", "this JVM has no provider SunPKCS11")
  }

  /** What SunPKCS11 takes for a configuration and not for the name of a file. */
  private val InlineMark = "--"

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
