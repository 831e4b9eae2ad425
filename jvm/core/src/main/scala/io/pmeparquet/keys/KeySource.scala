package io.pmeparquet.keys

import io.pmeparquet.{AesKey, PmeException}

/** A key as the KMS wrapped it; with double wrapping it is a key-encryption key, and has an id. */
final case class WrappedKey(masterKeyId: String, wrapped: String, kekId: Option[String])

/** @param millis for how long it may be used before it is asked for again */
final class LentKey(val key: AesKey, val millis: Long)

/**
 * Where keys come from and master keys are used: the KMS itself, or the driver, which asks it on behalf of executors.
 * Serves several threads. Failures are those of [[Kms]].
 */
trait KeySource {

  /** What messages call the KMS. */
  def describe: String

  /** Instance id and URL of the KMS, as key material names it. */
  def instance: (String, String)

  /**
   * Unwraps keys, in as few calls as can be.
   *
   * @return for each of them, in their order, the key or why it is not to be had
   */
  def unwrap(keys: Seq[WrappedKey], where: String): Seq[Either[PmeException, LentKey]]

  def wrap(key: AesKey, masterKeyId: String, where: String): String

  /** The key of that name itself; none where master keys cannot leave the KMS. */
  def directKey(id: String, where: String): Option[AesKey]
}
