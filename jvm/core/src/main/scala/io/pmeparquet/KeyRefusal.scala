package io.pmeparquet

/**
 * What it means that a reader does not get a key. Options such as `deniedColumns`, `missingKeys` and `deniedFiles` decide
 * by these alone.
 */
private[pmeparquet] object KeyRefusal {

  /** The KMS says that this reader does not get the key: this user, or nobody ever again. That is no slip of the reader's. */
  val ByKms: Set[Condition] = Set(Condition.KeyDenied, Condition.KeyDestroyed)

  /** The KMS does not have the key. It may be another KMS than the writer's. */
  val Missing: Condition = Condition.KeyNotFound

  /** The key is not there, for whatever reason, and nothing is said of the file. */
  val NoKey: Set[Condition] = ByKms + Missing + Condition.KmsUnavailable
}
