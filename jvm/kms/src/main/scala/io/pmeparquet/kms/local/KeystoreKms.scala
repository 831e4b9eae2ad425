package io.pmeparquet.kms.local

import java.io.{ByteArrayInputStream, IOException}
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.Path
import java.security._
import java.security.cert.Certificate
import java.util.concurrent.ConcurrentHashMap
import javax.crypto.SecretKey

import io.pmeparquet.{AesKey, PmeErrors, Secret}
import io.pmeparquet.keys.{KeyAdministration, Kms, PublicKeys, SigningKey}
import io.pmeparquet.material.LocalWrap

/**
 * `kms=keystore`: a Java keystore with one AES secret key per alias; the alias is the master-key id. Aliases of private
 * keys name keys to sign with. PKCS12 by default, BCFKS if BouncyCastle is on the class path, or any type of an installed
 * provider.
 *
 * Keys that can leave the keystore wrap as `KeyToolkit.encryptKeyLocally` does; keys that cannot (PKCS#11) wrap in the same
 * format inside their provider.
 */
final class KeystoreKms private (
    name: String,
    keystore: KeyStore,
    password: Array[Char],
    token: Option[Pkcs11Token.Opened] = None,
    administered: () => Option[KeyAdministration] = () => None
) extends Kms {
  private val random = new SecureRandom

  // Opening an entry derives a key from the password, which is intentionally slow.
  private val opened = new ConcurrentHashMap[String, SecretKey]

  override def describe: String = s"keystore $name"

  override def administration: Option[KeyAdministration] = administered()

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

  override def signingKey(id: String, where: String): SigningKey = {
    val (privateKey, provider, certificate) = inTime(where) {
      entry(id, where) match {
        case found: PrivateKey =>
          requireAsStored(id, where)
          (found, providerOf(found), keystore.getCertificate(id))
        case _ => throw PmeErrors.keyUnusable(where, id, s"its entry in $describe is not a private key")
      }
    }
    val publicKey = KeystoreSigningKey.publicKeyOf(certificate, id, describe, where)
    val key = new KeystoreSigningKey(id, describe, privateKey, publicKey, provider, token)
    key.requirePair(where)
    key
  }

  private def withMaster[A](id: String, where: String)(use: (SecretKey, Option[Provider]) => A): A =
    inTime(where) {
      val master = opened.computeIfAbsent(id, masterKey(_, where))
      use(master, providerOf(master))
    }

  /** A key that cannot leave its provider is used there. */
  private def providerOf(key: Key): Option[Provider] =
    if (key.getEncoded == null) Some(keystore.getProvider) else None

  /** Calls of tokens have a time limit. */
  private def inTime[A](where: String)(call: => A): A = token.fold(call)(_.use(where)(call))

  /**
   * Files contain this name of the key. PKCS12 finds `pii` by `PII`, but nothing else does, and a rotation of `pii` would
   * ignore files that name `PII`. Existing files still open.
   */
  private def requireAsStored(id: String, where: String): Unit = if (token.isEmpty) {
    val aliases = java.util.Collections.list(keystore.aliases())
    if (!aliases.contains(id)) {
      val stored =
        aliases.stream().filter(alias => alias.equalsIgnoreCase(id)).findFirst().orElse("another one")
      throw PmeErrors.keyUnusable(where, id, s"its name in $describe is '$stored', in another case", null)
    }
  }

  private def masterKey(id: String, where: String): SecretKey = entry(id, where) match {
    case secret: SecretKey => secret
    case _ => throw PmeErrors.keyUnusable(where, id, s"its entry in $describe is not a secret key")
  }

  private def entry(id: String, where: String): Key = {
    if (token.isEmpty && Tombstone.isIn(keystore, id)) throw PmeErrors.keyDestroyed(where, id, describe)
    // The keystore type determines how aliases compare: PKCS12 ignores case.
    val key =
      try keystore.getKey(id, password)
      catch {
        case failed @ (_: UnrecoverableKeyException | _: NoSuchAlgorithmException | _: KeyStoreException) =>
          throw PmeErrors.kmsUnavailable(
            where,
            s"the password of $describe does not open its entry '$id'",
            failed
          )
      }
    if (key == null)
      throw if (token.isEmpty && Tombstone.isIn(keystore, id)) PmeErrors.keyDestroyed(where, id, describe)
      else PmeErrors.keyNotFound(where, id, describe)
    key
  }
}

object KeystoreKms {

  /**
   * @param name the name of the keystore in messages
   * @param content the keystore file; for PKCS11 the configuration of its provider, or none for an installed one
   * @param timeoutMillis time limit of one call of a token
   * @param file the keystore's file, if it is on a local disk; only the process of an administrator looks for it
   */
  def open(
      name: String,
      storeType: String,
      content: Option[Array[Byte]],
      password: Secret,
      timeoutMillis: Long,
      file: () => Option[Path] = () => None
  ): KeystoreKms =
    if (storeType.equalsIgnoreCase(Pkcs11Token.KeystoreType)) {
      val token = Pkcs11Token.open(name, content, password, timeoutMillis)
      new KeystoreKms(name, token.keystore, password.insecureValue.toCharArray, Some(token))
    } else opened(name, storeType, content, password, file)

  private def opened(
      name: String,
      storeType: String,
      content: Option[Array[Byte]],
      password: Secret,
      file: () => Option[Path]
  ): KeystoreKms = {
    val keystore = KeystoreType.instance(storeType)
    val characters = password.insecureValue.toCharArray
    try keystore.load(content.map(new ByteArrayInputStream(_)).orNull, characters)
    catch {
      case failed: IOException =>
        val why =
          if (failed.getCause.isInstanceOf[UnrecoverableKeyException]) "its password is wrong"
          else s"it is not a complete $storeType keystore"
        throw PmeErrors.kmsUnavailable(s"keystore $name", why, failed)
      case failed: GeneralSecurityException =>
        throw PmeErrors.kmsUnavailable(s"keystore $name", s"it cannot be opened as $storeType", failed)
    }
    new KeystoreKms(
      name,
      keystore,
      characters,
      administered = () =>
        file().map(path =>
          new KeystoreAdministration(name, storeType, new KeystoreFile(name, path), password)
        )
    )
  }
}

/**
 * A private key of a keystore, and the public key of its certificate.
 *
 * @param keystore the name of the keystore in messages
 * @param provider signs with a key that cannot leave it
 * @param token limits the time of a call
 */
private[local] final class KeystoreSigningKey(
    id: String,
    keystore: String,
    privateKey: PrivateKey,
    override val publicKey: PublicKey,
    provider: Option[Provider],
    token: Option[Pkcs11Token.Opened]
) extends SigningKey {
  import KeystoreSigningKey._

  override val algorithm: String = PublicKeys.algorithmOf(publicKey).get

  override def describe: String = s"key '$id' of $keystore"

  override def sign(message: Array[Byte], where: String): Array[Byte] =
    try token.fold(signed(message))(_.use(where)(signed(message)))
    catch {
      case failed @ (_: InvalidKeyException | _: NoSuchAlgorithmException) =>
        val why = s"its private key in $keystore does not sign with $algorithm"
        throw PmeErrors.keyUnusable(where, id, why, failed)
      case failed @ (_: GeneralSecurityException | _: ProviderException) =>
        throw PmeErrors.kmsUnavailable(where, s"$describe cannot sign (${failed.getClass.getName})", failed)
    }

  private def signed(message: Array[Byte]): Array[Byte] = {
    val signature = provider.fold(Signature.getInstance(algorithm))(Signature.getInstance(algorithm, _))
    signature.initSign(privateKey)
    signature.update(message)
    signature.sign()
  }

  /** Proves that the private and the public key belong together: keystores do not. */
  def requirePair(where: String): Unit =
    if (!PublicKeys.verifies(publicKey, Proof, sign(Proof, where)))
      throw PmeErrors.keyUnusable(where, id, s"its certificate in $keystore is not that of its private key")
}

private[local] object KeystoreSigningKey {

  /** No signed snapshot begins with these bytes. */
  private val Proof = "pme-parquet: a proof of a key pair".getBytes(US_ASCII)

  /**
   * @param certificate null if the keystore has none
   * @throws io.pmeparquet.PmeException if it is not the certificate of a supported key
   */
  def publicKeyOf(certificate: Certificate, id: String, keystore: String, where: String): PublicKey = {
    def unusable(why: String) = PmeErrors.keyUnusable(where, id, why)
    if (certificate == null) throw unusable(s"$keystore has no certificate for it, and so no public key")
    val found = certificate.getPublicKey
    PublicKeys.parse(found.getEncoded).getOrElse {
      val why =
        s"$keystore has it with the algorithm ${found.getAlgorithm}; signing needs ${PublicKeys.Supported}"
      throw unusable(why)
    }
  }
}
