package io.pmeparquet.parquet.inspect

import java.util.Base64

import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.AesKey

/** The length of a key from its wrapped form; for keys that a KMS wraps, the length stays unknown. */
private[parquet] object WrappedLength {

  /** For results of `KeyToolkit.encryptKeyLocally`: base64 of nonce, key and tag. */
  def bits(wrapped: String): Option[Int] =
    try {
      val bytes = Base64.getDecoder.decode(wrapped).length - ModuleFrame.NonceBytes - ModuleFrame.TagBytes
      AesKey.AllowedBits.find(_ == bytes * java.lang.Byte.SIZE)
    } catch { case _: IllegalArgumentException => None }
}
