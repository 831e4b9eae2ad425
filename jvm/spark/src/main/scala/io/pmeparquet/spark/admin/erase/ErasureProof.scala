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
  import ErasureView.Gone

  private val known = before.map(one => one.file.path -> one).toMap
  private val meant = erased.filter(_.there).map(_.file).toSet

  /** What was found when the files were opened again. */
  def of(after: Seq[LookedFile]): Proved = {
    val now = after.map(_.file.path).toSet
    val gone =
      known.keys.filterNot(now).toSeq.sorted.map(ErasureFinding("unproven", _, "it is no longer there"))
    val answers = after.map(one => one -> problemOf(one))
    def fine(some: LookedFile => Boolean) = answers.count { case (one, problem) =>
      problem.isEmpty && some(one)
    }
    Proved(
      answers.flatMap(_._2) ++ gone,
      closed = fine(one => meant(one.file.path)),
      asBefore = fine(one => !meant(one.file.path) && known.contains(one.file.path))
    )
  }

  private def problemOf(one: LookedFile): Option[ErasureFinding] = {
    def finding(kind: String, why: String) = Some(ErasureFinding(kind, one.file.path, why))
    val own = view.ownUses(one)
    known.get(one.file.path) match {
      case None if own.nonEmpty =>
        finding("late", "it came while the keys were destroyed, is under them, and cannot be read any more")
      case None => None
      case Some(_) if meant(one.file.path) =>
        if (own.nonEmpty && own.forall(_.problem.exists(Gone))) None
        else finding("unproven", s"the attempt to open it gave ${outcome(one)}")
      case Some(old) if old.found == one.found => None
      case Some(_) => finding("unproven", s"it opened before, and now the attempt gave ${outcome(one)}")
    }
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

/**
 * @param findings what is not as it should be
 * @param closed how many files do not open any more, for the reason that they should
 * @param asBefore how many others are as they were
 */
private[erase] final case class Proved(findings: Seq[ErasureFinding], closed: Int, asBefore: Int)

private[erase] object ErasureProof {
  import ErasureView.Gone

  /**
   * Wraps a random key, to be unwrapped after the destruction. Nothing is wrapped then: Vault may make a key for that.
   *
   * @return none if the key is gone already, wholly or in the version that wraps
   */
  def probe(kms: Kms, id: String, state: KeyState, where: String): Option[String] =
    if (state != KeyState.Usable) None
    else
      try Some(kms.wrap(AesKey.random(ProbeBits, new java.security.SecureRandom), id, where))
      catch { case failed: PmeException if failed.condition == Condition.KeyDestroyed => None }

  /**
   * Whether the KMS refuses the key.
   *
   * @param fresh opened after the destruction
   * @return the condition with which it refuses what was wrapped before, none if nothing was; or that it does not
   */
  def refusal(
      fresh: Kms,
      id: String,
      probe: Option[String],
      where: String
  ): Either[PmeException, Option[String]] = {
    def stillThere = Left(
      PmeErrors.erasureUnproven(
        where,
        Seq(id),
        s"${fresh.describe} still uses this key",
        "Find out whether somebody put an older keystore or backup in place, and run this again."
      )
    )
    if (fresh.administration.get.state(id, where) == KeyState.Usable) stillThere
    else
      probe.fold[Either[PmeException, Option[String]]](Right(None)) { wrapped =>
        try {
          fresh.unwrap(wrapped, id, where)
          stillThere
        } catch {
          case failed: PmeException if Gone(failed.condition.name) => Right(Some(failed.condition.name))
        }
      }
  }

  private val ProbeBits = 128
}
