package io.pmeparquet.snapshot.seal

import java.io.ByteArrayInputStream
import java.security.{AlgorithmParameters, GeneralSecurityException, KeyFactory, PublicKey}
import java.security.cert.CertificateFactory
import java.security.interfaces.{ECPublicKey, EdECPublicKey}
import java.security.spec.{ECGenParameterSpec, ECParameterSpec, X509EncodedKeySpec}
import java.util.Base64

import scala.util.Try

import io.pmeparquet.{PmeErrors, Secret}

/** Public keys that verify snapshots. */
object PublicKeys {

  /**
   * A public key from PEM: `PUBLIC KEY` (X.509 SubjectPublicKeyInfo), or the key of a `CERTIFICATE`, whose names and
   * dates are not looked at.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def ofPem(option: String, text: Secret): PublicKey = {
    def unusable(why: String) = PmeErrors.badVerifyKey(option, why)
    val blocks = Block.findAllMatchIn(text.insecureValue).toList
    val key = blocks match {
      case List(block) =>
        val bytes = Try(Base64.getMimeDecoder.decode(block.group(2))).getOrElse(throw unusable("it is not PEM"))
        if (block.group(1) == "CERTIFICATE") ofCertificate(bytes).getOrElse(throw unusable("its certificate is not readable"))
        else ofKey(bytes).getOrElse(throw unusable("its key is neither Ed25519 nor EC"))
      case Nil => throw unusable("it has no PEM block PUBLIC KEY or CERTIFICATE")
      case _ => throw unusable("it has more than one key")
    }
    if (!isSupported(key)) throw unusable("its key is neither Ed25519 nor EC on the curve P-256")
    key
  }

  /** The name of the signatures that a key verifies. */
  private[seal] def algorithm(key: PublicKey): String = key match {
    case _: EdECPublicKey => Seals.Ed25519
    case _ => Seals.Ecdsa
  }

  private def isSupported(key: PublicKey) = key match {
    case edwards: EdECPublicKey => edwards.getParams.getName == Seals.Ed25519
    case ec: ECPublicKey =>
      val (curve, wanted) = (ec.getParams, p256)
      curve.getCurve == wanted.getCurve && curve.getGenerator == wanted.getGenerator && curve.getOrder == wanted.getOrder
    case _ => false
  }

  private def ofKey(bytes: Array[Byte]): Option[PublicKey] = Seq("Ed25519", "EC").view.flatMap { kind =>
    try Some(KeyFactory.getInstance(kind).generatePublic(new X509EncodedKeySpec(bytes)))
    catch { case _: GeneralSecurityException => None }
  }.headOption

  private def ofCertificate(bytes: Array[Byte]): Option[PublicKey] =
    try Some(CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(bytes)).getPublicKey)
    catch { case _: GeneralSecurityException => None }

  private val Block = "-----BEGIN (PUBLIC KEY|CERTIFICATE)-----\\s*([A-Za-z0-9+/=\\s]+)-----END \\1-----".r

  private lazy val p256: ECParameterSpec = {
    val parameters = AlgorithmParameters.getInstance("EC")
    parameters.init(new ECGenParameterSpec("secp256r1"))
    parameters.getParameterSpec(classOf[ECParameterSpec])
  }
}
