package io.pmeparquet.snapshot.seal

import java.nio.charset.StandardCharsets.US_ASCII
import javax.crypto.spec.SecretKeySpec
import javax.crypto.Mac

import io.pmeparquet.{AesKey, Sha256}
import io.pmeparquet.keys.PublicKeys

/** What is sealed, and how (docs/snapshots.md, "Format"). */
private[seal] object Seals {
  val Hmac = "HMAC-SHA256"
  val HmacKeyBits = 256

  /** The names in manifests, which are those of JCA. */
  val Signatures: Seq[String] = Seq(PublicKeys.Ed25519, PublicKeys.EcdsaP256)

  /** The message of a signature or HMAC. It is short, as the APIs of clouds ask. */
  def message(content: Array[Byte]): Array[Byte] =
    s"pme-parquet snapshot 1\n${Sha256.hex(Sha256.ofBytes(content))}".getBytes(US_ASCII)

  /** Under a key derived for this use, so that a wrapped key of a file is not a key of seals. */
  def hmac(key: AesKey, content: Array[Byte]): Array[Byte] = {
    val derived = mac(key.insecureBytes, "pme-parquet snapshot seal".getBytes(US_ASCII))
    mac(derived, message(content))
  }

  private def mac(key: Array[Byte], message: Array[Byte]) = {
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(new SecretKeySpec(key, "HmacSHA256"))
    mac.doFinal(message)
  }
}
