package io.pmeparquet.keys

import io.pmeparquet.{AesKey, PmeErrors}

/** For reading files without a KMS. */
object NoKms extends Kms {
  override def describe: String = "a reader without a KMS"
  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    throw missing(masterKeyId, where)
  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey =
    throw missing(masterKeyId, where)
  override def directKey(id: String, where: String): Option[AesKey] = throw missing(id, where)

  private def missing(masterKeyId: String, where: String) =
    PmeErrors.keyNotFound(where, masterKeyId, describe)
}
