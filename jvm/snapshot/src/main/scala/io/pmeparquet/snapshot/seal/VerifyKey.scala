package io.pmeparquet.snapshot.seal

import java.io.ByteArrayInputStream
import java.security.{GeneralSecurityException, PublicKey}
import java.security.cert.CertificateFactory
import java.util.Base64

import scala.util.Try

import io.pmeparquet.{PmeErrors, PmeException, Secret}
import io.pmeparquet.keys.PublicKeys

/** The public key that verifies snapshots. */
object VerifyKey {

  /**
   * A public key from PEM: `PUBLIC KEY` (`SubjectPublicKeyInfo`, RFC 5280), or the key of a `CERTIFICATE`, whose names
   * and dates do not count.
   *
   * @param option the option that refers to it, for messages
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def ofPem(option: String, text: Secret): PublicKey = {
    def unusable(why: String): PmeException = PmeErrors.badVerifyKey(option, why)
    val key = Block.findAllMatchIn(text.insecureValue).toList match {
      case List(block) =>
        val bytes =
          Try(Base64.getMimeDecoder.decode(block.group(2)))
            .getOrElse(throw unusable("its block is not base64"))
        if (block.group(1) == Certificate) ofCertificate(bytes) else PublicKeys.parse(bytes)
      case Nil => throw unusable("it has no PEM block PUBLIC KEY or CERTIFICATE")
      case _ => throw unusable("it has more than one key")
    }
    key.getOrElse(throw unusable(s"its key is not ${PublicKeys.Supported}"))
  }

  private def ofCertificate(bytes: Array[Byte]): Option[PublicKey] =
    try {
      val certificate =
        CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(bytes))
      PublicKeys.parse(certificate.getPublicKey.getEncoded)
    } catch { case _: GeneralSecurityException => None }

  private val Certificate = "CERTIFICATE"
  private val Block = s"-----BEGIN (PUBLIC KEY|$Certificate)-----\\s*([A-Za-z0-9+/=\\s]+)-----END \\1-----".r
}
