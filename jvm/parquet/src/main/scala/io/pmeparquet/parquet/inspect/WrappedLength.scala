package io.pmeparquet.parquet.inspect

import java.util.Base64

import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.AesKey

/** The length of a key, from the length of its wrapped form; what a KMS wraps itself does not reveal it. */
private[parquet] object WrappedLength {

  /** The length of a key that `KeyToolkit.encryptKeyLocally` wrapped: base64 of nonce, key and tag. */
  def bits(wrapped: String): Option[Int] =
    try {
      val bytes = Base64.getDecoder.decode(wrapped).length - ModuleFrame.NonceBytes - ModuleFrame.TagBytes
      AesKey.AllowedBits.find(_ == bytes * java.lang.Byte.SIZE)
    } catch { case _: IllegalArgumentException => None }
}
