package io.pmeparquet.parquet.rotation

import io.pmeparquet.keys.{KeyRoute, Kms, KmsSource, Rewrapping, RotationKms, WrappedKey}
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.scope.{ReadScope, Scopes}

/**
 * The KMS of a rotation, which executors ask by way of the driver. ''Driver only.''
 *
 * @param scope executors open files with it, and so prove what keys are theirs
 */
final class RotationKeys private (
    val scope: ReadScope,
    kms: RotationKms,
    source: KmsSource,
    rewrapping: Rewrapping
) {
  import Rewrapping.Answer

  /** Whether it pays to [[prepare]]. Where each key is a call of its own, tasks make those calls at the same time. */
  def takesBatches: Boolean = kms.takesBatches

  /** Has keys unwrapped together that executors will ask for one by one. */
  def prepare(keys: Seq[WrappedKey]): Unit = source.prepare(keys, "rotation")

  /** @param keys with the master key that each is to go under */
  def rewrap(keys: Seq[(WrappedKey, String)], where: String): Map[WrappedKey, Answer] =
    rewrapping(keys, where)

  /**
   * Has a random key wrapped and unwrapped under a master key that keys are to go under.
   *
   * @throws io.pmeparquet.PmeException what the KMS says
   */
  def tryOut(masterKeyId: String, where: String): Unit = rewrapping.tryOut(masterKeyId, where)

  /** What would come of it, if nothing failed. */
  def foresee(keys: Seq[(WrappedKey, String)]): Map[WrappedKey, Answer] = rewrapping.foresee(keys)
}

object RotationKeys {

  /** @param after where keys go, if that is another KMS than the one they come from */
  def open(before: Kms, after: Option[Kms], settings: ReadSettings, route: KeyRoute): RotationKeys = {
    val kms = new RotationKms(before, after)
    val source = new KmsSource(kms, settings.kekLifetimeMillis)
    // Pages are not looked at, so it does not matter whether somebody authenticates them, nor which columns they are of.
    val judged = settings.copy(acceptCtr = true, allowPlaintextFiles = true, columns = None)
    new RotationKeys(Scopes.alone(source, route, judged), kms, source, new Rewrapping(kms, source))
  }
}
