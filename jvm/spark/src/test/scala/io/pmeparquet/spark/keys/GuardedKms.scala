package io.pmeparquet.spark.keys

import org.apache.parquet.crypto.KeyAccessDeniedException

import io.pmeparquet.testkit.TestKms

/** The keys of [[TestKms]] for readers to whom it denies `pii`, which writers with that client may use. */
class GuardedKms extends TestKms {
  override def unwrapKey(wrapped: String, masterKeyId: String): Array[Byte] =
    if (masterKeyId == "pii") throw new KeyAccessDeniedException("test: pii is denied")
    else super.unwrapKey(wrapped, masterKeyId)
}
