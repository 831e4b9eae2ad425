package io.pmeparquet.snapshot.seal

import java.nio.charset.StandardCharsets.US_ASCII
import java.security.{MessageDigest, SecureRandom}
import javax.crypto.spec.SecretKeySpec
import javax.crypto.Mac

import io.pmeparquet.{AesKey, Sha256}
import io.pmeparquet.keys.PublicKeys

/** What is sealed, and how (docs/snapshots.md, "Format"). */
private[snapshot] object Seals {
  val Hmac = "HMAC-SHA256"

  /** The names in manifests, which are those of JCA. */
  val Signatures: Seq[String] = Seq(PublicKeys.Ed25519, PublicKeys.EcdsaP256)

  /** The message of a signature or HMAC. It is short, as the APIs of clouds ask. */
  def message(content: Array[Byte]): Array[Byte] =
    s"pme-parquet snapshot 1\n${Sha256.hex(Sha256.ofBytes(content))}".getBytes(US_ASCII)

  /** A new key of an HMAC: it names its use, so that no key of a file, which is random, is one. */
  def newKey(random: SecureRandom, where: String): AesKey = {
    val secret = new Array[Byte](SecretBytes)
    random.nextBytes(secret)
    AesKey.of(Use ++ secret, where)
  }

  /** Whether a key was made by [[newKey]]. */
  def isOfSeals(key: AesKey): Boolean = {
    val bytes = key.insecureBytes
    bytes.length == Use.length + SecretBytes && MessageDigest.isEqual(bytes.take(Use.length), Use)
  }

  def hmac(key: AesKey, content: Array[Byte]): Array[Byte] = {
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(new SecretKeySpec(key.insecureBytes, "HmacSHA256"))
    mac.doFinal(message(content))
  }

  private val Use = "pme snapshot key".getBytes(US_ASCII)
  private val SecretBytes = 16
}
