package io.pmeparquet.spark.admin.erase

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException}
import io.pmeparquet.keys.{KeyState, Kms}

/**
 * Whether keys are gone: a new client of the KMS is refused them, files under them fail to open for that reason, and all
 * others are as they were before. ''Driver only.''
 *
 * @param before the files as they were looked at before the destruction
 */
private[erase] final class ErasureProof(view: ErasureView, before: Seq[LookedFile], erased: Seq[ErasedFile]) {
  import ErasureProof._

  private val known = before.map(one => one.file.path -> one).toMap
  private val meant = erased.map(_.file).toSet

  /** What is not as it should be, in files that were opened again. */
  def findings(after: Seq[LookedFile]): Seq[ErasureFinding] = {
    def finding(kind: String, one: LookedFile, why: String) = Some(ErasureFinding(kind, one.file.path, why))
    val now = after.map(_.file.path).toSet
    val changed = after.flatMap { one =>
      val own = view.ownUses(one)
      known.get(one.file.path) match {
        case None if own.nonEmpty =>
          finding(
            "late",
            one,
            "it came while the keys were destroyed, is under them, and cannot be read any more"
          )
        case None => None
        case Some(_) if meant(one.file.path) =>
          if (own.nonEmpty && own.forall(_.problem.exists(Gone))) None
          else finding("unproven", one, s"the attempt to open it gave ${outcome(one)}")
        case Some(old) =>
          if (old.found == one.found) None
          else finding("unproven", one, s"it opened before, and now the attempt gave ${outcome(one)}")
      }
    }
    changed ++ known.keys
      .filterNot(now)
      .toSeq
      .sorted
      .map(ErasureFinding("unproven", _, "it is no longer there"))
  }

  private def outcome(one: LookedFile): String = one.found match {
    case Left(failed) => failed.condition
    case Right(use) =>
      use.uses.flatMap(_.problem).distinct match {
        case Seq() => "no failure"
        case problems => problems.mkString(", ")
      }
  }
}

private[erase] object ErasureProof {

  /** How a KMS refuses a key that is gone: some forget it. */
  val Gone: Set[String] = Set(Condition.KeyDestroyed, Condition.KeyNotFound).map(_.name)

  /**
   * Wraps a random key, to be unwrapped after the destruction. Nothing is wrapped then: Vault may make a key for that.
   *
   * @return none if the key is gone already
   */
  def probe(kms: Kms, id: String, state: KeyState, where: String): Option[String] =
    if (state == KeyState.Usable)
      Some(kms.wrap(AesKey.random(ProbeBits, new java.security.SecureRandom), id, where))
    else None

  /**
   * Requires that the KMS refuses the key.
   *
   * @param fresh opened after the destruction
   * @return the condition with which it refuses what was wrapped before; none if nothing was
   */
  def refusal(fresh: Kms, id: String, probe: Option[String], where: String): Option[String] = {
    if (fresh.administration.get.state(id, where) == KeyState.Usable) throw stillThere(where, id, fresh)
    probe.map { wrapped =>
      try {
        fresh.unwrap(wrapped, id, where)
        throw stillThere(where, id, fresh)
      } catch { case failed: PmeException if Gone(failed.condition.name) => failed.condition.name }
    }
  }

  private def stillThere(where: String, id: String, kms: Kms) = PmeErrors.erasureUnproven(
    where,
    Seq(id),
    s"${kms.describe} still uses this key",
    "Find out whether somebody put an older keystore or backup in place, and run this again."
  )

  private val ProbeBits = 128
}
