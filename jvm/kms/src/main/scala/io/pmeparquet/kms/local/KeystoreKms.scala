package io.pmeparquet.keys

import java.io.{ByteArrayInputStream, IOException}
import java.security._
import java.util.concurrent.ConcurrentHashMap
import javax.crypto.SecretKey

import io.pmeparquet.{AesKey, PmeErrors, Secret}

/**
 * `kms=keystore`: a Java keystore that holds one AES secret key per alias, the alias being the master-key id.
 * PKCS12 by default, BCFKS where BouncyCastle is on the class path, or any type an installed provider has.
 *
 * Keys that can leave the keystore wrap as `KeyToolkit.encryptKeyLocally` does; keys that cannot (PKCS#11) wrap in
 * the same form inside their provider.
 */
final class KeystoreKms private (
    name: String,
    keystore: KeyStore,
    password: Array[Char],
    token: Option[Pkcs11Token.Opened] = None
) extends Kms {
  private val random = new SecureRandom

  // Opening an entry derives a key from the password, which is slow on purpose.
  private val opened = new ConcurrentHashMap[String, SecretKey]

  override def describe: String = s"keystore $name"

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    withMaster(masterKeyId, where) { (master, provider) =>
      requireAsStored(masterKeyId, where)
      LocalWrap.wrap(key, master, LocalWrap.aadOf(masterKeyId), random, where, provider)
    }

  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey =
    withMaster(masterKeyId, where) { (master, provider) =>
      LocalWrap.unwrap(wrapped, master, LocalWrap.aadOf(masterKeyId), where, masterKeyId, provider)
    }

  override def directKey(id: String, where: String): Option[AesKey] =
    withMaster(id, where)((master, _) => Option(master.getEncoded).map(AesKey.of(_, where)))

  /** In limited time where it is a token that is asked. A key that cannot leave its provider is used there. */
  private def withMaster[A](id: String, where: String)(use: (SecretKey, Option[Provider]) => A): A = {
    def used() = {
      val master = opened.computeIfAbsent(id, load(_, where))
      use(master, if (master.getEncoded == null) Some(keystore.getProvider) else None)
    }
    token.fold(used())(_.use(where)(used()))
  }

  /**
   * Files name the key by the text that is given here. PKCS12 finds `pii` by `PII`; nothing else does, and a rotation
   * from `pii` would pass over files that say `PII`. What is there already still opens.
   */
  private def requireAsStored(id: String, where: String): Unit = if (token.isEmpty) {
    val aliases = java.util.Collections.list(keystore.aliases())
    if (!aliases.contains(id)) {
      val stored =
        aliases.stream().filter(alias => alias.equalsIgnoreCase(id)).findFirst().orElse("another one")
      throw PmeErrors.keyUnusable(where, id, s"its name in $describe is '$stored', in other letters", null)
    }
  }

  private def load(id: String, where: String): SecretKey = {
    // Aliases compare as the keystore's type compares them: PKCS12 without case.
    val key =
      try keystore.getKey(id, password)
      catch {
        case failed @ (_: UnrecoverableKeyException | _: NoSuchAlgorithmException | _: KeyStoreException) =>
          throw PmeErrors.kmsUnavailable(
            where,
            s"$describe does not open entry '$id' with its password",
            failed
          )
      }
    key match {
      case secret: SecretKey => secret
      case null => throw PmeErrors.keyNotFound(where, id, describe)
      case _ =>
        throw PmeErrors.keyNotFound(where, id, s"$describe (its entry of that name is no secret key; it)")
    }
  }
}

object KeystoreKms {

  /**
   * @param name what messages call the keystore
   * @param content the keystore file; for PKCS11 the configuration of its provider, or none for an installed one
   * @param timeoutMillis all that one call of a token may take
   */
  def open(
      name: String,
      storeType: String,
      content: Option[Array[Byte]],
      password: Secret,
      timeoutMillis: Long
  ): KeystoreKms =
    if (storeType.equalsIgnoreCase(Pkcs11Token.KeystoreType)) {
      val token = Pkcs11Token.open(name, content, password, timeoutMillis)
      new KeystoreKms(name, token.keystore, password.insecureValue.toCharArray, Some(token))
    } else opened(name, storeType, content, password)

  private def opened(
      name: String,
      storeType: String,
      content: Option[Array[Byte]],
      password: Secret
  ): KeystoreKms = {
    val keystore = instance(storeType)
    val characters = password.insecureValue.toCharArray
    try keystore.load(content.map(new ByteArrayInputStream(_)).orNull, characters)
    catch {
      case failed: IOException =>
        val why =
          if (failed.getCause.isInstanceOf[UnrecoverableKeyException]) "its password is wrong"
          else s"it is no whole $storeType keystore"
        throw PmeErrors.kmsUnavailable(s"keystore $name", why, failed)
      case failed: GeneralSecurityException =>
        throw PmeErrors.kmsUnavailable(s"keystore $name", s"it cannot be opened as $storeType", failed)
    }
    new KeystoreKms(name, keystore, characters)
  }

  private val BouncyCastleType = "BCFKS"
  private val BouncyCastleProvider = "org.bouncycastle.jce.provider.BouncyCastleProvider"

  private def instance(storeType: String): KeyStore =
    try KeyStore.getInstance(storeType)
    catch {
      case _: KeyStoreException if storeType.equalsIgnoreCase(BouncyCastleType) =>
        KeyStore.getInstance(storeType, bouncyCastle())
      case failed: KeyStoreException =>
        throw PmeErrors.unsupported(
          "option kms.keystore.type",
          s"'$storeType'",
          "no installed security provider has this keystore type",
          "Use PKCS12, or add the provider to the class path and to java.security." + causeOf(failed)
        )
    }

  // The provider is used for this keystore only; it is not installed, so the JVM's other code sees no difference.
  private def bouncyCastle(): Provider =
    try
      Thread
        .currentThread()
        .getContextClassLoader
        .loadClass(BouncyCastleProvider)
        .getDeclaredConstructor()
        .newInstance()
        .asInstanceOf[Provider]
    catch {
      case failed: ReflectiveOperationException =>
        throw PmeErrors.unsupported(
          "option kms.keystore.type",
          s"'$BouncyCastleType'",
          "BouncyCastle is not on the class path",
          "Add org.bouncycastle:bcprov-jdk18on to --packages, or use PKCS12." + causeOf(failed)
        )
    }

  private def causeOf(failed: Exception): String = s" (${failed.getClass.getSimpleName})"
}
