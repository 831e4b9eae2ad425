package io.pmeparquet.keys

import java.security.MessageDigest

/**
 * How to reach the master keys, with all secrets resolved. Prints no secret. Two settings are equal if they lead to the
 * same keys for the same user: caches are keyed by them, so each implementation needs equality by value. Each KMS client
 * of `jvm/kms` defines its own.
 *
 * ''Crosses the wire'' within a scope with `kms.callFrom=executor`, and never otherwise.
 */
trait KmsSettings extends Serializable {

  /** The KMS as the option `kms` names it: `keystore`, `vault`, or the name of a class. */
  def kind: String

  /** Whether the KMS runs in this process: it hands out master keys themselves, and a call costs no round trip. */
  def isInProcess: Boolean
}

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
