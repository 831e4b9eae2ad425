package io.pmeparquet.cipher

import java.io.IOException
import java.net.URLClassLoader
import java.security.{GeneralSecurityException, Provider, Security}
import javax.crypto.Cipher

import scala.util.control.NonFatal

import io.pmeparquet.{ClassPathEntry, PmeErrors, PmeException}

/**
 * The JCE provider that opens the modules of a read. It has passed its self-test.
 *
 * @param option the value of option `cryptoProvider` that selected it
 */
final class CryptoProvider private (val provider: Provider, val option: String) extends CipherSource {

  // Amazon's provider has no AES-CTR; the JVM's own is used then.
  private lazy val counterMode: Provider =
    try Cipher.getInstance(AesCtr.Transformation, provider).getProvider
    catch { case _: GeneralSecurityException => Cipher.getInstance(AesCtr.Transformation).getProvider }

  /** From the provider itself, which is faster than by name and cannot be another one of the same name. */
  override private[cipher] def gcm(): Cipher = Cipher.getInstance(AesGcm.Transformation, provider)

  override private[cipher] def ctr(): Cipher = Cipher.getInstance(AesCtr.Transformation, counterMode)

  override def name: String = provider.getName

  override def toString: String = s"CryptoProvider($name ${provider.getVersionStr})"
}

object CryptoProvider {

  /** The value of option `cryptoProvider` for an automatic choice. */
  val Auto = "auto"

  /**
   * Providers that can be loaded from the class path without being installed, by their JCE names. Amazon's comes first,
   * because it is as fast in a cold JVM as in a warm one.
   */
  private val OnClassPath = Seq(
    "AmazonCorrettoCryptoProvider" -> "com.amazon.corretto.crypto.provider.AmazonCorrettoCryptoProvider",
    "Conscrypt" -> "org.conscrypt.OpenSSLProvider",
    "BC" -> "org.bouncycastle.jce.provider.BouncyCastleProvider",
    "BCFIPS" -> "org.bouncycastle.jcajce.provider.BouncyCastleFipsProvider"
  )

  /** What `auto` uses if it is there; all others are slower than the JVM's own. */
  private val Preferred = "AmazonCorrettoCryptoProvider"

  private val chosen = new java.util.concurrent.ConcurrentHashMap[String, CryptoProvider]

  /**
   * @param name the value of option `cryptoProvider`
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if a named provider is missing or fails its self-test
   */
  def of(name: String): CryptoProvider = chosen.computeIfAbsent(name, choose)

  /** parquet-java uses the first provider of the JVM with AES-GCM; a write that names another is refused. */
  def requireForWrite(name: String): Unit = {
    val first = firstOfJvm.getName
    if (!name.equalsIgnoreCase(Auto) && !name.equalsIgnoreCase(first))
      throw PmeErrors.unsupported(
        "option cryptoProvider",
        s"writing with '$name'",
        s"parquet-java encrypts with the first provider of the JVM, which is $first",
        "Use auto, or put the provider first in the JVM's java.security."
      )
  }

  /** Prepares the provider with which parquet-java encrypts. */
  def prepareForWrite(): Unit = WarmUp.start(untested(firstOfJvm))

  /** The JVM's default provider of AES-GCM. */
  private def firstOfJvm: Provider = Cipher.getInstance(AesGcm.Transformation).getProvider

  /** As `of`, but not cached: the choice depends on the class loader of the thread. */
  private[cipher] def choose(name: String): CryptoProvider =
    if (name.equalsIgnoreCase(Auto)) {
      val quick = find(Preferred).filter(SelfTest.failure(_).isEmpty)
      tested(quick.getOrElse(firstOfJvm), name)
    } else tested(find(name).getOrElse(throw missing(name)), name)

  private def tested(provider: Provider, option: String): CryptoProvider = {
    SelfTest.failure(provider).foreach { why =>
      throw PmeErrors.unsupported(
        "option cryptoProvider",
        s"'${provider.getName}'",
        s"it fails its self-test ($why)",
        "Use auto, or another provider."
      )
    }
    val chosen = new CryptoProvider(provider, option)
    WarmUp.start(chosen)
    chosen
  }

  private def find(name: String): Option[Provider] =
    Option(Security.getProvider(name)).orElse {
      OnClassPath
        .collectFirst { case (known, className) if known.equalsIgnoreCase(name) => className }
        .flatMap(load)
    }

  private def load(className: String): Option[Provider] =
    try
      Some(
        Class
          .forName(className, true, loaderOf(className))
          .getDeclaredConstructor()
          .newInstance()
          .asInstanceOf[Provider]
      )
    catch {
      // Missing, or not for this machine: an error if it was named, else the JVM's own is used.
      case _: ReflectiveOperationException | _: LinkageError | _: IOException => None
    }

  /**
   * The native libraries in Amazon's jars have the same name for every processor, so with two jars on the class path both
   * would load that of the first. The jar for this machine is then loaded separately.
   */
  private def loaderOf(className: String): ClassLoader = {
    val jars = ClassPathEntry.holding(ClassPathEntry.resourceOf(className), loader)
    val ours = if (jars.size > 1) jars.find(_.fileName.endsWith(s"-$Platform.jar")) else None
    ours.fold(loader)(jar => new URLClassLoader(Array(jar.url), ClassLoader.getPlatformClassLoader))
  }

  /** The names of Amazon's jars. */
  private val Platform = if (System.getProperty("os.arch") == "aarch64") "linux-aarch_64" else "linux-x86_64"

  private def loader: ClassLoader =
    Option(Thread.currentThread().getContextClassLoader).getOrElse(getClass.getClassLoader)

  private def missing(name: String): PmeException =
    PmeErrors.unsupported(
      "option cryptoProvider",
      s"'$name'",
      "no provider of that name is installed or on the class path",
      s"Use auto, add its jar, or name one of: ${Security.getProviders.map(_.getName).mkString(", ")}."
    )

  private[cipher] def untested(provider: Provider): CryptoProvider =
    new CryptoProvider(provider, provider.getName)

  /** Known answers: a provider that gets one wrong, or accepts a wrong tag, is not used. */
  private object SelfTest {
    def failure(provider: Provider): Option[String] =
      try KnownAnswers.check(untested(provider))
      catch { case failed @ (NonFatal(_) | _: LinkageError) => Some(failed.getClass.getSimpleName) }
  }
}
