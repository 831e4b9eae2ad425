package io.pmeparquet.keys

import java.security.SecureRandom

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.material.LocalWrap

/** A KMS for tests: it holds its master keys itself. */
final class HeldKeys(keys: Map[String, AesKey]) extends Kms {
  private val random = new SecureRandom

  override def describe: String = "held keys"

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    LocalWrap.wrap(key, master(masterKeyId, where).toSecretKey, LocalWrap.aadOf(masterKeyId), random, where)

  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey = {
    val under = master(masterKeyId, where).toSecretKey
    LocalWrap.unwrap(wrapped, under, LocalWrap.aadOf(masterKeyId), where, masterKeyId)
  }

  override def directKey(id: String, where: String): Option[AesKey] = Some(master(id, where))

  private def master(id: String, where: String) =
    keys.getOrElse(id, throw PmeErrors.keyNotFound(where, id, describe))
}
