package io.pmeparquet.cipher

import java.io.IOException
import java.net.URLClassLoader
import java.security.{GeneralSecurityException, Provider, Security}
import javax.crypto.Cipher

import scala.util.control.NonFatal

import io.pmeparquet.{ClassPathEntry, PmeErrors, PmeException}

/**
 * The JCE provider that the modules of a read are opened with. It has passed its self-test.
 *
 * @param option the value of option `cryptoProvider` that it stands for
 */
final class CryptoProvider private (val provider: Provider, val option: String) {

  // Amazon's provider has no AES-CTR; the JVM's own serves then.
  private lazy val counterMode: Provider =
    try Cipher.getInstance(AesCtr.Transformation, provider).getProvider
    catch { case _: GeneralSecurityException => Cipher.getInstance(AesCtr.Transformation).getProvider }

  /** By the provider itself, which is quicker than by name and takes no other that has the same name. */
  private[cipher] def gcm(): Cipher = Cipher.getInstance(AesGcm.Transformation, provider)

  private[cipher] def ctr(): Cipher = Cipher.getInstance(AesCtr.Transformation, counterMode)

  def name: String = provider.getName

  override def toString: String = s"CryptoProvider($name ${provider.getVersionStr})"
}

object CryptoProvider {

  /** The value of option `cryptoProvider` that leaves the choice to us. */
  val Auto = "auto"

  /**
   * Providers that can be taken off the class path without being installed, by their JCE names. Amazon's comes first: it
   * is as quick in a cold JVM as in a warm one.
   */
  private val OnClassPath = Seq(
    "AmazonCorrettoCryptoProvider" -> "com.amazon.corretto.crypto.provider.AmazonCorrettoCryptoProvider",
    "Conscrypt" -> "org.conscrypt.OpenSSLProvider",
    "BC" -> "org.bouncycastle.jce.provider.BouncyCastleProvider",
    "BCFIPS" -> "org.bouncycastle.jcajce.provider.BouncyCastleFipsProvider"
  )

  /** What `auto` takes where it is there; all else is slower than the JVM's own. */
  private val Preferred = "AmazonCorrettoCryptoProvider"

  private val chosen = new java.util.concurrent.ConcurrentHashMap[String, CryptoProvider]

  /**
   * @param name the value of option `cryptoProvider`
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` where a named provider is not there or fails its self-test
   */
  def of(name: String): CryptoProvider = chosen.computeIfAbsent(name, choose)

  /** parquet-java takes the first provider of the JVM that has AES-GCM; a write that asks for another is refused. */
  def requireForWrite(name: String): Unit = {
    val first = firstOfJvm.getName
    if (!name.equalsIgnoreCase(Auto) && !name.equalsIgnoreCase(first))
      throw PmeErrors.unsupported(
        "option cryptoProvider",
        s"'$name' to write",
        s"parquet-java encrypts with the first provider of the JVM, which is $first",
        "Use auto, or put the provider first in the JVM's java.security."
      )
  }

  /** Gets the provider ready that parquet-java will encrypt with. */
  def prepareForWrite(): Unit = WarmUp.start(untested(firstOfJvm))

  /** What the JVM takes for AES-GCM where nobody names a provider. */
  private def firstOfJvm: Provider = Cipher.getInstance(AesGcm.Transformation).getProvider

  /** As `of`, but anew: what is chosen depends on the class loader of the thread. */
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
      // Not there, or not for this machine: who named it is told so, and who did not gets the JVM's own.
      case _: ReflectiveOperationException | _: LinkageError | _: IOException => None
    }

  /**
   * The native libraries of Amazon's jars have one name on every processor, so of two jars on a class path either would
   * load that of the first. The jar for this machine is then loaded by itself.
   */
  private def loaderOf(className: String): ClassLoader = {
    val jars = ClassPathEntry.holding(ClassPathEntry.resourceOf(className), loader)
    val ours = if (jars.size > 1) jars.find(_.fileName.endsWith(s"-$Platform.jar")) else None
    ours.fold(loader)(jar => new URLClassLoader(Array(jar.url), ClassLoader.getPlatformClassLoader))
  }

  /** As Amazon's jars are named. */
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

  /** Known answers: a provider that gets them wrong, or takes a wrong tag for right, is not used. */
  private object SelfTest {
    def failure(provider: Provider): Option[String] =
      try KnownAnswers.check(untested(provider))
      catch { case failed @ (NonFatal(_) | _: LinkageError) => Some(failed.getClass.getSimpleName) }
  }
}
