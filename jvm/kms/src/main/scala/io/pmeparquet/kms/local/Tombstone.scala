package io.pmeparquet.kms.local

import java.io.ByteArrayInputStream
import java.security.cert.{Certificate, CertificateFactory}
import java.security.KeyStore
import java.util.{Arrays, Base64}

/**
 * What a keystore has in the place of a key that was destroyed: a certificate, always the same one, under the key's alias.
 * No name is special, so no key can be taken for it, and every type of keystore and keytool can keep it. Nobody has its
 * private key.
 */
private[local] object Tombstone {

  private val Encoded = Base64.getMimeDecoder.decode(
    """MIIBcTCCARagAwIBAgIJALWyn/RDUHczMAoGCCqGSM49BAMCMCsxKTAnBgNVBAMTIHBtZS1wYXJxdWV0IGRlc3Ryb3llZCBtYXN0
      |ZXIga2V5MCAXDTIwMDEwMTAwMDAwMFoYDzIxMTkxMjA4MDAwMDAwWjArMSkwJwYDVQQDEyBwbWUtcGFycXVldCBkZXN0cm95ZWQg
      |bWFzdGVyIGtleTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABM10nqYZfo2cg9g+1MYeC7sHlsQktc+1QMfRudLQFW47BGiztc0r
      |3fhfbXE1h8uB0wFNZzgbpqvkaAcKhg8swtyjITAfMB0GA1UdDgQWBBQjI3nGIVGjv9B7cZEDabjJ5cXQGDAKBggqhkjOPQQDAgNJ
      |ADBGAiEA2qdbVRkB5Upv2p/+yudfG861xUzytOGDEZKOGV4y0gQCIQD5Tx85ADs0eP74VhhPwYC718P3qba+xDPRsyar9fTA+A==""".stripMargin
  )

  def certificate: Certificate =
    CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(Encoded))

  def isIn(store: KeyStore, alias: String): Boolean =
    store.isCertificateEntry(alias) && Arrays.equals(store.getCertificate(alias).getEncoded, Encoded)
}
