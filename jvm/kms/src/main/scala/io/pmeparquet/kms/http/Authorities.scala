package io.pmeparquet.kms.http

import java.io.ByteArrayInputStream
import java.security.cert.{
  CertPathBuilderException,
  CertPathValidatorException,
  CertificateException,
  CertificateFactory
}
import java.security.KeyStore
import javax.net.ssl.{SSLContext, SSLException, TrustManagerFactory}

import io.pmeparquet.{PmeErrors, PmeException}

/** Whose certificates a KMS may show. */
private[http] object Authorities {

  /** @param pem certificates that are trusted in place of the JVM's */
  def trusting(pem: Array[Byte], kms: String): SSLContext = {
    val certificates =
      try CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem))
      catch {
        case bad: CertificateException => throw unusable(kms, bad)
      }
    if (certificates.isEmpty) throw unusable(kms, null)
    val store = KeyStore.getInstance(KeyStore.getDefaultType)
    store.load(null, null)
    certificates.forEach(certificate =>
      store.setCertificateEntry(certificate.hashCode.toHexString, certificate)
    )
    val managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    managers.init(store)
    val context = SSLContext.getInstance("TLS")
    context.init(null, managers.getTrustManagers, null)
    context
  }

  private def unusable(kms: String, cause: Throwable) =
    PmeErrors.kmsUnavailable(kms, "the CA file has no certificates in PEM", cause)

  /** Whether the certificate was the reason. */
  def isUntrusted(failed: SSLException): Boolean = PmeException.causes(failed).exists {
    case _: CertificateException | _: CertPathBuilderException | _: CertPathValidatorException => true
    case _ => false
  }
}
