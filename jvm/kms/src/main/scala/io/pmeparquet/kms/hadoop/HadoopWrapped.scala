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
