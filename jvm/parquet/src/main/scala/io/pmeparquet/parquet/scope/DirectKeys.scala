package io.pmeparquet.parquet.scope

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.keys.KeySource

/** `keyManagement=direct`: the named key of the KMS is the data key. */
private[parquet] object DirectKeys {
  def of(source: KeySource, keyId: String, bits: Option[Int], where: String): AesKey = {
    val key = source.directKey(keyId, where).getOrElse {
      throw PmeErrors.unsupported(
        where,
        "keyManagement=direct",
        s"${source.describe} does not give keys out",
        "Use keyManagement=envelope."
      )
    }
    if (key.isZero)
      throw PmeErrors.keyUnusable(
        where,
        keyId,
        "all its bytes are zero, and parquet-java does not encrypt with such a key"
      )
    bits.filter(_ != key.bits).foreach { wanted =>
      throw PmeErrors.contradiction(
        "keyManagement and dataKeyBits",
        s"key '$keyId' has ${key.bits} bits, but dataKeyBits is $wanted",
        "Remove dataKeyBits, or name another key."
      )
    }
    key
  }
}
