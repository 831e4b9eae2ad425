package io.pmeparquet.kms.hadoop

import java.util.Base64

import io.pmeparquet.PmeErrors

/**
 * The local key of an ORC file, encrypted under a key of Hadoop KMS, as text: `hadoop-orc:VERSION:KEY`, with `KEY` in
 * base64. Hadoop KMS encrypts keys by AES-CTR, so it decrypts these too. ORC stores no IV beside a local key: the key's
 * own first bytes are the IV.
 */
private[kms] final class HadoopLocalKey(val version: Int, val encrypted: Array[Byte]) {

  /** What Hadoop KMS takes for the IV: it inverts each bit of an IV before it uses it. */
  def iv: Array[Byte] = encrypted.take(HadoopLocalKey.IvBytes).map(byte => (~byte).toByte)

  override def toString: String =
    s"${HadoopLocalKey.Prefix}$version:${Base64.getEncoder.encodeToString(encrypted)}"
}

private[kms] object HadoopLocalKey {
  val Prefix = "hadoop-orc:"

  private val IvBytes = 16
  private val MaxLength = 100
  private val Form = s"$Prefix(0|[1-9][0-9]{0,8}):([A-Za-z0-9+/=]+)".r

  /** ORC has AES with keys of these lengths. */
  private val Lengths = Set(128, 256)

  def is(text: String): Boolean = text.startsWith(Prefix)

  /** @throws io.pmeparquet.PmeException for anything that [[HadoopLocalKey.toString]] does not make */
  def parse(text: String): HadoopLocalKey = {
    def unusable = PmeErrors.keyMetadata("local key of an ORC file", "it is not what ORC's writers store")
    if (text.length > MaxLength) throw unusable
    text match {
      case Form(version, key) =>
        val parsed =
          try new HadoopLocalKey(version.toInt, Base64.getDecoder.decode(key))
          catch { case _: IllegalArgumentException => throw unusable }
        if (!Lengths(parsed.encrypted.length * 8) || parsed.toString != text) throw unusable
        parsed
      case _ => throw unusable
    }
  }
}
