package io.pmeparquet.keys

import io.pmeparquet.{AesKey, Condition, PmeException}

/**
 * Where master keys live. Wraps and unwraps data keys (or the keys that encrypt data keys) under a master key, which
 * stays where it is. Implementations are safe for use by several threads.
 *
 * Failures are [[io.pmeparquet.PmeException]]s: `PME_KEY_NOT_FOUND`, `PME_KEY_DENIED`, `PME_KMS_UNAVAILABLE`,
 * `PME_NOT_AUTHENTIC`.
 */
trait Kms {

  /** What messages call it: `keystore keys.p12`. Holds no secret. */
  def describe: String

  /** What key material names as its KMS: parquet-java's `kmsInstanceID` and `kmsInstanceURL`. */
  def instanceId: String = Kms.Default
  def instanceUrl: String = Kms.Default

  /** @param where the file or job this is for, for messages */
  def wrap(key: AesKey, masterKeyId: String, where: String): String

  def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey

  /**
   * Unwraps several keys under one master key: in one call, where the KMS can.
   *
   * @return for each of them, in their order, the key or why it is not to be had
   */
  def unwrapAll(wrapped: Seq[String], masterKeyId: String, where: String): Seq[Either[PmeException, AesKey]] =
    Kms.inBatches(wrapped, 1)(_.map(one => Right(unwrap(one, masterKeyId, where))))

  /**
   * Wraps a key anew, under the newest version of its master key, within the KMS.
   *
   * @return none where the KMS has no such call: then the key is unwrapped and wrapped
   */
  def rewrap(wrapped: String, masterKeyId: String, where: String): Option[String] = None

  /** The key of that name itself, for `keyManagement=direct`; none where master keys cannot leave the KMS. */
  def directKey(id: String, where: String): Option[AesKey]
}

object Kms {

  /** What parquet-java writes for a KMS without instances. */
  val Default = "DEFAULT"

  /** Asks for so many wrapped keys at once; a failure is the answer for each of those that were asked for with it. */
  private[keys] def inBatches(wrapped: Seq[String], most: Int)(
      ask: Seq[String] => Seq[Either[PmeException, AesKey]]
  ): Seq[Either[PmeException, AesKey]] =
    wrapped.grouped(most).foldLeft(Vector.empty[Either[PmeException, AesKey]]) { (before, some) =>
      // Who did not answer for one will not answer for the next.
      before.lastOption.filter(_.left.toOption.exists(_.condition == Condition.KmsUnavailable)) match {
        case Some(unavailable) => before ++ some.map(_ => unavailable)
        case None =>
          before ++ (try ask(some)
          catch { case failed: PmeException => some.map(_ => Left(failed)) })
      }
    }
}
