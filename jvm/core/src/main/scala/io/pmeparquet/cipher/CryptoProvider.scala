package io.pmeparquet.cipher

import java.io.IOException
import java.net.URLClassLoader
import java.security.{GeneralSecurityException, Provider, Security}
import javax.crypto.{AEADBadTagException, Cipher}

import scala.util.control.NonFatal

import io.pmeparquet.{AesKey, ClassPathEntry, PmeErrors, PmeException}

/**
 * The JCE provider that opens the modules of a read, or seals those of a write. It has passed its self-test.
 *
 * @param option the value of option `cryptoProvider` that selected it
 */
final class CryptoProvider private (val provider: Provider, val option: String) extends CipherSource {

  // Amazon's provider has no AES-CTR; the JVM's own is used then.
  private lazy val counterMode: Provider =
    try Cipher.getInstance(AesCtr.Transformation, provider).getProvider
    catch { case _: GeneralSecurityException => Cipher.getInstance(AesCtr.Transformation).getProvider }

  /** From the provider itself, which is faster than by name and cannot be another one of the same name. */
  override private[pmeparquet] def gcm(): Cipher = Cipher.getInstance(AesGcm.Transformation, provider)

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

  /**
   * Checks a write in which parquet-java itself encrypts: it takes the first provider of the JVM with AES-GCM.
   *
   * @param name the value of option `cryptoProvider`
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if that is another one, or fails its self-test
   */
  def requireOfJvm(name: String): Unit = {
    val first = ofJvm.name
    if (!name.equalsIgnoreCase(Auto) && !name.equalsIgnoreCase(first))
      throw PmeErrors.unsupported(
        "option cryptoProvider",
        s"writing with '$name'",
        s"parquet-java encrypts here, with the first provider of the JVM, which is $first",
        "Use auto, or put the provider first in the JVM's java.security."
      )
  }

  /** The first of the JVM: it may change while the JVM runs. */
  private def ofJvm: CryptoProvider = {
    val first = firstOfJvm
    val known = firstTested
    if (known != null && (known.provider eq first)) known
    else {
      firstTested = tested(first, first.getName)
      firstTested
    }
  }

  @volatile private var firstTested: CryptoProvider = _

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

/**
 * Known answers that a provider must give before it is used. GCM: test cases 4 and 16 of McGrew and Viega's submission to
 * NIST, with keys of 128 and 256 bits. CTR: the same, because GCM encrypts with CTR (SP 800-38D §7.1).
 */
private object KnownAnswers {
  private final case class Gcm(key: String, nonce: String, aad: String, plain: String, ciphertext: String)

  private val plain =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525" +
      "b16aedf5aa0de657ba637b39"
  private val aad = "feedfacedeadbeeffeedfacedeadbeefabaddad2"

  private val gcm = Seq(
    Gcm(
      "feffe9928665731c6d6a8f9467308308",
      "cafebabefacedbaddecaf888",
      aad,
      plain,
      "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa05" +
        "1ba30b396a0aac973d58e091" + "5bc94fbc3221a5db94fae95ae7121a47"
    ),
    Gcm(
      "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
      "cafebabefacedbaddecaf888",
      aad,
      plain,
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838" +
        "c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b"
    )
  )

  /** @return what went wrong, if anything did */
  def check(provider: CipherSource): Option[String] = {
    val wrong = gcm.filterNot(opens(provider, _)).map(one => s"AES-GCM with ${one.key.length * 4} bits")
    val lax = gcm.filterNot(refusesBentTag(provider, _)).map(_ => "a wrong tag is taken for right")
    val ctr = if (decryptsCtr(provider)) Nil else Seq("AES-CTR")
    val sealing = gcm.filterNot(seals(provider, _)).map(_ => "what it encrypts is wrong")
    (wrong ++ lax ++ ctr ++ sealing).headOption
  }

  private def opens(provider: CipherSource, one: Gcm): Boolean = {
    val (out, length) = open(provider, one, hex(one.nonce + one.ciphertext))
    java.util.Arrays.equals(out.take(length), hex(one.plain))
  }

  private def refusesBentTag(provider: CipherSource, one: Gcm): Boolean = {
    val bent = hex(one.nonce + one.ciphertext)
    bent(bent.length - 1) = (bent.last ^ 1).toByte
    try {
      open(provider, one, bent)
      false
    } catch { case _: AEADBadTagException => true }
  }

  private def open(provider: CipherSource, one: Gcm, module: Array[Byte]): (Array[Byte], Int) = {
    val out = new Array[Byte](module.length)
    val aad = hex(one.aad)
    out -> new AesGcm(key(one.key), provider).open(module, 0, module.length, aad, aad.length, out, 0)
  }

  // GCM uses counter 1 for its tag and encrypts from 2 on; a first block of any content uses up 1.
  private def decryptsCtr(provider: CipherSource): Boolean = gcm.forall { one =>
    val ciphertext = hex(one.ciphertext)
    val module = hex(one.nonce) ++ new Array[Byte](16) ++ ciphertext.dropRight(ModuleFrame.TagBytes)
    val out = new Array[Byte](module.length)
    val length =
      new AesCtr(key(one.key), provider).open(module, 0, module.length, Array.emptyByteArray, 0, out, 0)
    java.util.Arrays.equals(java.util.Arrays.copyOfRange(out, 16, length), hex(one.plain))
  }

  /** Twice with each cipher: a provider may keep something from one module to the next. */
  private def seals(provider: CipherSource, one: Gcm): Boolean = {
    val (nonce, aad) = (hex(one.nonce), hex(one.aad))
    val gcm = new AesGcm(key(one.key), provider)
    val ctr = new AesCtr(key(one.key), provider)
    // The JVM's provider refuses to encrypt twice with one nonce.
    gcm.seal(aad, aad, aad.length, nonce.reverse)
    ctr.seal(aad, aad, aad.length, nonce.reverse)
    val module = gcm.seal(hex(one.plain), aad, aad.length, nonce)
    val untagged = ctr.seal(new Array[Byte](16) ++ hex(one.plain), aad, aad.length, nonce)
    val ciphertext = hex(one.ciphertext)
    java.util.Arrays
      .equals(module, ModuleFrame.lengthOf(module.length - ModuleFrame.LengthBytes) ++ nonce ++ ciphertext) &&
    java.util.Arrays.equals(
      untagged.drop(ModuleFrame.ContentAt + 16),
      ciphertext.dropRight(ModuleFrame.TagBytes)
    )
  }

  private def key(text: String): AesKey = AesKey.of(hex(text), "self-test")

  private def hex(text: String): Array[Byte] = text.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
}
