package io.pmeparquet.keys

import scala.collection.mutable

import io.pmeparquet.{Condition, PmeErrors, PmeException}

/**
 * Wraps keys anew, each distinct one once, and shows that what came of it opens before anybody lets go of what was.
 * ''Driver only.''
 *
 * @param source unwraps by `kms`, and remembers what it unwrapped
 */
final class Rewrapping(kms: RotationKms, source: KmsSource) {
  import Rewrapping._

  private val known = mutable.Map.empty[WrappedKey, Either[PmeException, WrappedKey]]

  /**
   * @param keys with the master key that each is to go under. All of them have proved to be keys of their files: a KMS is
   *   not made to open and wrap what somebody put in their place
   * @return for each of them what it became, itself where it was done before, or why it could not be
   */
  def apply(
      keys: Seq[(WrappedKey, String)],
      where: String
  ): Map[WrappedKey, Either[PmeException, WrappedKey]] = {
    // Keys that come later are asked for again, of which the first tells whether the KMS serves by now.
    known --= known.collect { case (key, answer) if isUnavailable(answer) => key }
    val missing = keys.distinct.filterNot { case (key, _) => known.contains(key) }
    val answers = source.unwrap(missing.map(_._1), where)
    val opened = missing.zip(answers).flatMap {
      case ((key, _), Left(failed)) =>
        known(key) = Left(failed)
        None
      case ((key, _), Right(_)) if kms.isDone(key) =>
        known(key) = Right(key)
        None
      case ((key, masterKeyId), Right(lent)) => Some(Job(key, lent, masterKeyId))
    }
    // The first by itself: a KMS that does not serve is asked once.
    (opened.take(1) +: opened.drop(1).grouped(AtOnce).toSeq).foreach(wrapAll(_, where))
    keys.map { case (key, _) => key -> known(key) }.toMap
  }

  /** What [[apply]] would say if nothing failed, without asking the KMS; of what is not yet wrapped, no wrapped form. */
  def foresee(keys: Seq[(WrappedKey, String)]): Map[WrappedKey, Either[PmeException, WrappedKey]] =
    keys.map { case (key, masterKeyId) =>
      key -> Right(if (kms.isDone(key)) key else WrappedKey(masterKeyId, "", key.kekId))
    }.toMap

  private def wrapAll(jobs: Seq[Job], where: String): Unit = {
    val answers: Seq[Either[PmeException, WrappedKey]] = known.values.find(isUnavailable) match {
      case Some(failed) => jobs.map(_ => failed)
      case None => KmsThreads.all(jobs.map(job => () => attempt(job, where)))
    }
    jobs.zip(answers).foreach { case (job, answer) => known(job.key) = answer }
  }

  private def attempt(job: Job, where: String): Either[PmeException, WrappedKey] =
    try {
      val wrapped = kms.rewrap(job.key, job.lent.key, job.masterKeyId, where)
      if (kms.opens(wrapped, job.masterKeyId, where) != job.lent.key)
        throw PmeErrors.kmsUnavailable(where, s"what ${kms.describe} wrapped opens as another key")
      Right(WrappedKey(job.masterKeyId, wrapped, job.key.kekId))
    } catch { case failed: PmeException if !PmeException.isOfCancelled(failed) => Left(failed) }
}

private object Rewrapping {
  final case class Job(key: WrappedKey, lent: LentKey, masterKeyId: String)

  private def isUnavailable(answer: Either[PmeException, WrappedKey]) =
    answer.left.exists(_.condition == Condition.KmsUnavailable)

  /** No more than are called at once anyway, so that a KMS that stops serving is not asked for all. */
  val AtOnce = 32
}
