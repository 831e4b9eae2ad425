package io.pmeparquet.keys

import java.security.{AlgorithmParameters, GeneralSecurityException, KeyFactory, PublicKey, Signature}
import java.security.interfaces.{ECPublicKey, EdECPublicKey}
import java.security.spec.{ECGenParameterSpec, ECParameterSpec, X509EncodedKeySpec}

/** Public keys whose signatures are supported: Ed25519 (RFC 8032), and ECDSA with SHA-256 on the curve P-256 (FIPS 186-5). */
private[pmeparquet] object PublicKeys {
  val Ed25519 = "Ed25519"
  val EcdsaP256 = "SHA256withECDSA"

  /** The keys that can sign, for messages. */
  val Supported = "an Ed25519 key, or an EC key on the curve P-256"

  /** The longest encoding of a supported key has 91 bytes. */
  private val MaxEncodedBytes = 256

  /**
   * @param encoded the key as a `SubjectPublicKeyInfo` (RFC 5280) in DER
   * @return none if it is not the encoding of a supported key
   */
  def parse(encoded: Array[Byte]): Option[PublicKey] =
    if (encoded.length > MaxEncodedBytes) None
    else
      Seq("Ed25519", "EC").flatMap(parsed(_, encoded)).find { key =>
        // Only one encoding of a key is accepted, so that keys can be compared by their bytes.
        algorithmOf(key).isDefined && key.getEncoded.sameElements(encoded)
      }

  /** @param raw the 32 bytes of RFC 8032 */
  def ed25519(raw: Array[Byte]): Option[PublicKey] =
    if (raw.length == Ed25519Bytes) parse(Ed25519Prefix ++ raw) else None

  /** The algorithm of a key's signatures, by its JCA name; none if the key is not supported. */
  def algorithmOf(key: PublicKey): Option[String] = key match {
    case edwards: EdECPublicKey if edwards.getParams.getName == Ed25519 => Some(Ed25519)
    case curve: ECPublicKey if isP256(curve.getParams) => Some(EcdsaP256)
    case _ => None
  }

  /** Whether this is the signature of a message; not if it is malformed, or the key is not supported. */
  def verifies(key: PublicKey, message: Array[Byte], signature: Array[Byte]): Boolean =
    algorithmOf(key).exists { algorithm =>
      try {
        val verifier = Signature.getInstance(algorithm)
        verifier.initVerify(key)
        verifier.update(message)
        verifier.verify(signature)
      } catch { case _: GeneralSecurityException => false }
    }

  private def parsed(algorithm: String, encoded: Array[Byte]): Option[PublicKey] =
    try Some(KeyFactory.getInstance(algorithm).generatePublic(new X509EncodedKeySpec(encoded)))
    catch { case _: GeneralSecurityException => None }

  private lazy val p256: ECParameterSpec = {
    val parameters = AlgorithmParameters.getInstance("EC")
    parameters.init(new ECGenParameterSpec("secp256r1"))
    parameters.getParameterSpec(classOf[ECParameterSpec])
  }

  private def isP256(curve: ECParameterSpec): Boolean =
    curve.getCurve == p256.getCurve && curve.getGenerator == p256.getGenerator &&
      curve.getOrder == p256.getOrder && curve.getCofactor == p256.getCofactor

  private val Ed25519Bytes = 32

  /** What precedes the raw key in DER (RFC 8410, section 4): a sequence of the algorithm's OID and a bit string. */
  private val Ed25519Prefix: Array[Byte] =
    Array(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00).map(_.toByte)
}

/** A private key that signs; it never leaves its KMS. Thread-safe. */
trait SigningKey {

  /** Its name in messages: `key 'release' of keystore keys.p12`. Contains no secret. */
  def describe: String

  /** The JCA name: `Ed25519`, or `SHA256withECDSA` with a key on the curve P-256. */
  def algorithm: String

  /** Verifies its signatures. */
  def publicKey: PublicKey

  /**
   * @param where what the signature is for, for messages
   * @return the signature: 64 bytes of Ed25519, or DER of ECDSA
   */
  def sign(message: Array[Byte], where: String): Array[Byte]
}
