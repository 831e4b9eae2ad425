package io.pmeparquet.keys

import io.pmeparquet.{AesKey, PmeException}

/** @param millis how long it may be used before the source must be asked again */
final class IssuedKey(val key: AesKey, val millis: Long)

/**
 * A key-encryption key that processes of one application share for their writes.
 *
 * @param wrapped under a master key
 */
final class IssuedKek(val id: Array[Byte], val key: AesKey, val wrapped: String)

/** Makes key-encryption keys. Failures are those of [[Kms]]. */
trait KekSource {
  def kek(masterKeyId: String, bits: Int, where: String): IssuedKek
}

/**
 * Where readers and writers get keys and use master keys: the KMS itself, or the driver, which asks the KMS on behalf
 * of executors. Thread-safe. Failures are those of [[Kms]].
 */
trait KeySource {

  /** The name of the KMS in messages. */
  def describe: String

  /** Instance id and URL of the KMS, as key material names it. */
  def instance: (String, String)

  /**
   * Unwraps keys in as few calls as possible.
   *
   * @return for each key, in order, the unwrapped key or the reason why there is none
   */
  def unwrap(keys: Seq[WrappedKey], where: String): Seq[Either[PmeException, IssuedKey]]

  def wrap(key: AesKey, masterKeyId: String, where: String): String

  /** The key of that name itself; none if master keys cannot leave the KMS. */
  def directKey(id: String, where: String): Option[AesKey]

  /**
   * To be called before the key of that name itself encrypts modules.
   *
   * @param uses how many at most
   * @throws io.pmeparquet.PmeException `PME_KEY_NOT_FOUND` if these are more than one key may encrypt
   */
  def reserve(id: String, uses: Long, where: String): Unit
}
