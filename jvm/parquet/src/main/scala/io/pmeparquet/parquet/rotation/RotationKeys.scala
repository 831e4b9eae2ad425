package io.pmeparquet.parquet.rotation

import io.pmeparquet.keys.{KeyRoute, Kms, KmsSource, Rewrapping, RotationKms, WrappedKey}
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.scope.{ReadScope, Scopes}

/**
 * The KMS of a rotation. Executors reach it through the driver. ''Driver only.''
 *
 * @param scope the scope with which executors open Parquet files, and so prove which keys are the files'
 * @param source what unwraps keys, for a scope of another format
 * @param route how executors reach the driver
 */
final class RotationKeys private (
    val scope: ReadScope,
    kms: RotationKms,
    private[pmeparquet] val source: KmsSource,
    private[pmeparquet] val route: KeyRoute,
    rewrapping: Rewrapping
) {
  import Rewrapping.Answer

  /** Whether [[prepare]] pays. If each key takes a call of its own, tasks make those calls at the same time. */
  def takesBatches: Boolean = kms.takesBatches

  /** Unwraps together the keys that executors will ask for one by one. */
  def prepare(keys: Seq[WrappedKey]): Unit = source.prepare(keys, "rotation")

  /** @param keys each with its new master key */
  def rewrap(keys: Seq[(WrappedKey, String)], where: String): Map[WrappedKey, Answer] =
    rewrapping(keys, where)

  /**
   * Wraps and unwraps a random key under a master key that keys are to move to.
   *
   * @throws io.pmeparquet.PmeException if the KMS refuses or fails
   */
  def tryOut(masterKeyId: String, where: String): Unit = rewrapping.tryOut(masterKeyId, where)

  /** The answers that [[rewrap]] would give if nothing failed. */
  def foresee(keys: Seq[(WrappedKey, String)]): Map[WrappedKey, Answer] = rewrapping.foresee(keys)
}

object RotationKeys {

  /** @param after the KMS that keys move to, if it is not the one that they come from */
  def open(before: Kms, after: Option[Kms], settings: ReadSettings, route: KeyRoute): RotationKeys = {
    val kms = new RotationKms(before, after)
    val source = new KmsSource(kms, settings.kekLifetimeMillis)
    // A rotation reads no pages, so it does not matter whether they are authenticated, nor which columns they belong
    // to.
    val opening = settings.copy(acceptCtr = true, allowPlaintextFiles = true, columns = None)
    new RotationKeys(Scopes.unshared(source, route, opening), kms, source, route, new Rewrapping(kms, source))
  }
}
