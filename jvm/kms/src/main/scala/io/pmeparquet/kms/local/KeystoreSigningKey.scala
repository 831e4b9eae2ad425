package io.pmeparquet.kms.local

import java.nio.charset.StandardCharsets.US_ASCII
import java.security._
import java.security.cert.Certificate

import io.pmeparquet.keys.{PublicKeys, SigningKey}
import io.pmeparquet.PmeErrors

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
