package io.pmeparquet.kms.local

import java.io.{IOException, InputStream, OutputStream}
import java.security._
import java.security.cert.Certificate
import java.security.spec.AlgorithmParameterSpec
import java.util
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}
import javax.crypto.{Cipher, CipherSpi, SecretKey}
import javax.security.auth.callback.{Callback, PasswordCallback}
import javax.security.auth.login.FailedLoginException

import scala.collection.JavaConverters._

import io.pmeparquet.kms.local.FakeToken.Step

/**
 * A security provider that behaves as SunPKCS11 does with a token: keys that do not leave it, the master key `m` and the
 * private key `s`, and a PIN that it asks for until somebody is logged in. At a chosen step it hangs as native code does: no interrupt helps.
 */
final class FakeToken extends Provider("FakeToken", "1", "for tests") {
  private val steps = new ConcurrentLinkedQueue[(String, String)]
  private val hanging = new Hanging
  private val open = new CountDownLatch(1)
  @volatile private var hangs = Option.empty[String]

  putService(new Provider.Service(this, "KeyStore", "PKCS11", "-", null, null) {
    override def newInstance(parameter: AnyRef): AnyRef = new FakeStore(FakeToken.this)
  })
  putService(new Provider.Service(this, "Cipher", "AES/GCM/NoPadding", "-", null, null) {
    override def newInstance(parameter: AnyRef): AnyRef = new FakeCipher(FakeToken.this)
    override def supportsParameter(parameter: AnyRef): Boolean = parameter.isInstanceOf[FakeKey]
  })
  putService(new Provider.Service(this, "Signature", "SHA256withECDSA", "-", null, null) {
    override def newInstance(parameter: AnyRef): AnyRef = new FakeSignature(FakeToken.this)
    override def supportsParameter(parameter: AnyRef): Boolean = parameter.isInstanceOf[FakePrivateKey]
  })

  def hangAt(step: String): Unit = hangs = Some(step)
  def release(): Unit = hanging.release()
  def awaitOpen(millis: Long): Unit = assert(open.await(millis, TimeUnit.MILLISECONDS))
  def count(step: String): Int = steps.asScala.count(_._1 == step)
  def threads: Seq[String] = steps.asScala.map(_._2).toSeq

  def reach(step: String): Unit = {
    steps.add(step -> Thread.currentThread().getName)
    if (hangs.contains(step)) hanging.hang()
  }

  @volatile private var isIn = false

  def logIn(ask: util.function.Supplier[Array[Char]]): Unit = {
    if (!isIn && !util.Arrays.equals(ask.get, FakeToken.Pin)) throw new FailedLoginException
    isIn = true
    open.countDown()
  }
}

object FakeToken {
  val Pin: Array[Char] = "4829".toCharArray

  object Step {
    val Open = "open"
    val Find = "find"
    val Encrypt = "encrypt"
    val Sign = "sign"
  }
}

private final class FakeKey extends SecretKey {
  override def getAlgorithm: String = "AES"
  override def getFormat: String = null
  override def getEncoded: Array[Byte] = null
}

private final class FakeStore(token: FakeToken) extends KeyStoreSpi {
  override def engineLoad(parameter: KeyStore.LoadStoreParameter): Unit = {
    token.reach(Step.Open)
    val question = new PasswordCallback("PIN", false)
    val handler =
      parameter.getProtectionParameter.asInstanceOf[KeyStore.CallbackHandlerProtection].getCallbackHandler
    try
      token.logIn { () =>
        handler.handle(Array[Callback](question))
        question.getPassword
      }
    catch { case refused: FailedLoginException => throw new IOException(refused) }
  }

  override def engineGetKey(alias: String, password: Array[Char]): Key = {
    token.reach(Step.Find)
    alias match {
      case "m" => new FakeKey
      case FakeSigner.Alias => new FakePrivateKey
      case _ => null
    }
  }

  override def engineGetCertificate(alias: String): Certificate =
    if (alias == FakeSigner.Alias) new FakeCertificate else null

  private def unused = throw new UnsupportedOperationException
  override def engineGetCertificateChain(alias: String): Array[Certificate] = unused
  override def engineGetCreationDate(alias: String): util.Date = unused
  override def engineSetKeyEntry(a: String, k: Key, p: Array[Char], c: Array[Certificate]): Unit = unused
  override def engineSetKeyEntry(a: String, k: Array[Byte], c: Array[Certificate]): Unit = unused
  override def engineSetCertificateEntry(alias: String, certificate: Certificate): Unit = unused
  override def engineDeleteEntry(alias: String): Unit = unused
  override def engineAliases(): util.Enumeration[String] = unused
  override def engineContainsAlias(alias: String): Boolean = unused
  override def engineSize(): Int = unused
  override def engineIsKeyEntry(alias: String): Boolean = unused
  override def engineIsCertificateEntry(alias: String): Boolean = unused
  override def engineGetCertificateAlias(certificate: Certificate): String = unused
  override def engineStore(out: OutputStream, password: Array[Char]): Unit = unused
  override def engineLoad(in: InputStream, password: Array[Char]): Unit = unused
}

/** The JVM's own cipher, with a key that the token alone has. */
private final class FakeCipher(token: FakeToken) extends CipherSpi {
  private val inner = Cipher.getInstance("AES/GCM/NoPadding", "SunJCE")

  override def engineInit(mode: Int, key: Key, spec: AlgorithmParameterSpec, random: SecureRandom): Unit = {
    token.reach(Step.Encrypt)
    inner.init(mode, io.pmeparquet.AesKey.of(new Array[Byte](32), "test").toSecretKey, spec)
  }
  override def engineUpdateAAD(bytes: Array[Byte], offset: Int, length: Int): Unit =
    inner.updateAAD(bytes, offset, length)
  override def engineDoFinal(in: Array[Byte], offset: Int, length: Int): Array[Byte] =
    inner.doFinal(in, offset, length)

  private def unused = throw new UnsupportedOperationException
  override def engineSetMode(mode: String): Unit = unused
  override def engineSetPadding(padding: String): Unit = unused
  override def engineGetBlockSize(): Int = unused
  override def engineGetOutputSize(length: Int): Int = unused
  override def engineGetIV(): Array[Byte] = unused
  override def engineGetParameters(): AlgorithmParameters = unused
  override def engineInit(mode: Int, key: Key, random: SecureRandom): Unit = unused
  override def engineInit(mode: Int, key: Key, spec: AlgorithmParameters, random: SecureRandom): Unit = unused
  override def engineUpdate(in: Array[Byte], offset: Int, length: Int): Array[Byte] = unused
  override def engineUpdate(in: Array[Byte], at: Int, length: Int, out: Array[Byte], offset: Int): Int =
    unused
  override def engineDoFinal(in: Array[Byte], at: Int, length: Int, out: Array[Byte], offset: Int): Int =
    unused
}
