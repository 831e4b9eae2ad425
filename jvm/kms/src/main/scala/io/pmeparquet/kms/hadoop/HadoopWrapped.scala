package io.pmeparquet.kms.hadoop

import java.util.Base64

import io.pmeparquet.{AesKey, PmeErrors}

/**
 * A key that Hadoop KMS helped to wrap, as text: `hadoop:VERSION:IV:EEK:KEY`. `IV` and `EEK` are Hadoop's encrypted key
 * and open with that version of the master key; under what they open to, `KEY` is wrapped as [[io.pmeparquet.keys.LocalWrap]]
 * does it. All three are base64. The master key's name is not part of it: the id that key material gives says it.
 */
private[kms] final class HadoopWrapped(
    val version: Int,
    val iv: Array[Byte],
    val eek: Array[Byte],
    val key: String
) {
  override def toString: String = {
    val base64 = Base64.getEncoder
    s"hadoop:$version:${base64.encodeToString(iv)}:${base64.encodeToString(eek)}:$key"
  }
}

private[kms] object HadoopWrapped {

  /** Of AES/CTR, which Hadoop encrypts keys with. */
  private val IvBytes = 16
  private val MaxLength = 200
  private val Form = "hadoop:(0|[1-9][0-9]{0,8}):([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)".r

  /** @throws io.pmeparquet.PmeException for anything that [[HadoopWrapped.toString]] does not make */
  def parse(text: String): HadoopWrapped = {
    def unusable = PmeErrors.keyMetadata("wrapped key", "it was not wrapped by Hadoop KMS")
    if (text.length > MaxLength) throw unusable
    text match {
      case Form(version, iv, eek, key) =>
        val parsed =
          try
            new HadoopWrapped(version.toInt, Base64.getDecoder.decode(iv), Base64.getDecoder.decode(eek), key)
          catch { case _: IllegalArgumentException => throw unusable }
        val sized = parsed.iv.length == IvBytes && AesKey.AllowedBits.contains(parsed.eek.length * 8)
        if (!sized || parsed.toString != text) throw unusable
        parsed
      case _ => throw unusable
    }
  }
}

/**
 * The local key of an ORC file, encrypted under a key of Hadoop KMS, as text: `hadoop-orc:VERSION:KEY`, with `KEY` in
 * base64. Hadoop KMS encrypts keys by AES-CTR, so it decrypts these too. ORC stores no IV with a local key: the key's
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
