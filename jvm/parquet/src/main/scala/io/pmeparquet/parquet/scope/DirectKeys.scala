package io.pmeparquet.parquet

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.keys.KeySource

/** `keyManagement=direct`: the named key of the KMS is the data key. */
private[parquet] object DirectKeys {
  def of(source: KeySource, keyId: String, bits: Option[Int], where: String): AesKey = {
    val key = source.directKey(keyId, where).getOrElse {
      throw PmeErrors.unsupported(
        where,
        "keyManagement=direct",
        s"keys do not leave ${source.describe}",
        "Use keyManagement=envelope."
      )
    }
    if (key.isZero)
      throw PmeErrors.keyUnusable(
        where,
        keyId,
        "all its bytes are zero, and parquet-java encrypts under no such key"
      )
    bits.filter(_ != key.bits).foreach { wanted =>
      throw PmeErrors.contradiction(
        "keyManagement and dataKeyBits",
        s"key '$keyId' has ${key.bits} bits and dataKeyBits is $wanted",
        "Leave out dataKeyBits, or name another key."
      )
    }
    key
  }
}
