package io.pmeparquet.parquet.rotation

import io.pmeparquet.keys.{KeyRoute, Kms, KmsSource, Rewrapping, RotationKms, WrappedKey}
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.scope.{ReadScope, Scopes}

/**
 * The KMS of a rotation, which executors ask through the driver. ''Driver only.''
 *
 * @param scope executors open files with it, and so prove which keys belong to them
 */
final class RotationKeys private (
    val scope: ReadScope,
    kms: RotationKms,
    source: KmsSource,
    rewrapping: Rewrapping
) {
  import Rewrapping.Answer

  /** Whether [[prepare]] pays. If each key takes a call of its own, tasks make these calls in parallel. */
  def takesBatches: Boolean = kms.takesBatches

  /** Unwraps keys together that executors will ask for one by one. */
  def prepare(keys: Seq[WrappedKey]): Unit = source.prepare(keys, "rotation")

  /** @param keys with the new master key of each */
  def rewrap(keys: Seq[(WrappedKey, String)], where: String): Map[WrappedKey, Answer] =
    rewrapping(keys, where)

  /**
   * Wraps and unwraps a random key under a new master key.
   *
   * @throws io.pmeparquet.PmeException the KMS's answer
   */
  def tryOut(masterKeyId: String, where: String): Unit = rewrapping.tryOut(masterKeyId, where)

  /** The result if nothing failed. */
  def foresee(keys: Seq[(WrappedKey, String)]): Map[WrappedKey, Answer] = rewrapping.foresee(keys)
}

object RotationKeys {

  /** @param after where keys go, if that is another KMS than the one they come from */
  def open(before: Kms, after: Option[Kms], settings: ReadSettings, route: KeyRoute): RotationKeys = {
    val kms = new RotationKms(before, after)
    val source = new KmsSource(kms, settings.kekLifetimeMillis)
    // Pages are not read, so it does not matter whether anything authenticates them, nor which columns they belong to.
    val judged = settings.copy(acceptCtr = true, allowPlaintextFiles = true, columns = None)
    new RotationKeys(Scopes.alone(source, route, judged), kms, source, new Rewrapping(kms, source))
  }
}
