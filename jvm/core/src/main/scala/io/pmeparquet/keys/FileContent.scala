package io.pmeparquet.keys

import java.security.MessageDigest

/** The bytes of a keystore or certificate file, as read on the driver. Prints none of them. */
final class FileContent(private val bytes: Array[Byte]) extends Serializable {
  def insecureBytes: Array[Byte] = bytes
  override def equals(other: Any): Boolean = other match {
    case that: FileContent => MessageDigest.isEqual(bytes, that.bytes)
    case _ => false
  }
  override def hashCode(): Int = bytes.length
  override def toString: String = s"FileContent(${bytes.length} bytes)"
}
