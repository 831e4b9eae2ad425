package io.pmeparquet

import java.security.{MessageDigest, SecureRandom}
import javax.crypto.spec.SecretKeySpec
import javax.crypto.SecretKey

/**
 * An AES key: 128, 192 or 256 bits. It does not print, compares in constant time, and gives up its bytes only to
 * who asks by a name that can be searched for. ''Crosses the wire'' only within a scope that says so.
 */
final class AesKey private (private val bytes: Array[Byte]) extends Serializable {

  def bits: Int = bytes.length * 8

  /** The bytes themselves, a copy: for a cipher, and for parquet-java, which takes keys as arrays. */
  def insecureBytes: Array[Byte] = bytes.clone()

  def isZero: Boolean = bytes.forall(_ == 0)

  def toSecretKey: SecretKey = new SecretKeySpec(bytes, "AES")

  override def equals(other: Any): Boolean = other match {
    case that: AesKey => MessageDigest.isEqual(bytes, that.bytes)
    case _ => false
  }

  // Of the size only: a hash of the bytes would say something about them.
  override def hashCode(): Int = bits

  override def toString: String = s"AesKey($bits bits)"
}

object AesKey {
  val AllowedBits: Seq[Int] = Seq(128, 192, 256)

  /** @param where what the key is of, for the message should its size be wrong */
  def of(bytes: Array[Byte], where: String): AesKey = {
    if (!AllowedBits.contains(bytes.length * 8)) throw PmeErrors.keyOfWrongSize(where, bytes.length * 8)
    new AesKey(bytes.clone())
  }

  def random(bits: Int, random: SecureRandom): AesKey = {
    val bytes = new Array[Byte](bits / 8)
    random.nextBytes(bytes)
    new AesKey(bytes)
  }
}
