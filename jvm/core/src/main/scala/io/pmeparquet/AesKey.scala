package io.pmeparquet

import java.security.{MessageDigest, SecureRandom}
import javax.crypto.spec.SecretKeySpec
import javax.crypto.SecretKey

/**
 * An AES key of 128, 192 or 256 bits. It does not print its bytes, compares in constant time, and returns its bytes only
 * from a method whose name is easy to search for. ''Crosses the wire'' only within a scope that documents it.
 */
final class AesKey private (private val bytes: Array[Byte]) extends Serializable {

  def bits: Int = bytes.length * 8

  /** A copy of the bytes, for a cipher and for parquet-java, which takes keys as arrays. */
  def insecureBytes: Array[Byte] = bytes.clone()

  def isZero: Boolean = bytes.forall(_ == 0)

  def toSecretKey: SecretKey = new SecretKeySpec(bytes, "AES")

  override def equals(other: Any): Boolean = other match {
    case that: AesKey => MessageDigest.isEqual(bytes, that.bytes)
    case _ => false
  }

  // Of the size only: a hash of the bytes would reveal something about them.
  override def hashCode(): Int = bits

  override def toString: String = s"AesKey($bits bits)"
}

object AesKey {
  val AllowedBits: Seq[Int] = Seq(128, 192, 256)

  /** @param where what the key belongs to, for the message about a wrong size */
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
