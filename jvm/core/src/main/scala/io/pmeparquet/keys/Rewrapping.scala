package io.pmeparquet.keys

import java.security.SecureRandom

import scala.collection.mutable

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException}

/**
 * Wraps keys anew, each distinct one once, and shows that what came of it opens before anybody lets go of what was.
 * ''Driver only.''
 *
 * @param source unwraps by `kms`, and remembers what it unwrapped
 */
final class Rewrapping(kms: RotationKms, source: KmsSource) {
  import Rewrapping._

  private val known = mutable.Map.empty[WrappedKey, Answer]

  /**
   * @param keys with the master key that each is to go under. All of them have proved to be keys of their files: a KMS is
   *   not made to open and wrap what somebody put in their place
   * @return for each of them what it became, itself where it was done before, or why it could not be
   */
  def apply(keys: Seq[(WrappedKey, String)], where: String): Map[WrappedKey, Answer] = {
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
    wrapAll(opened.groupBy(_.way).values.toSeq, where)
    keys.map { case (key, _) => key -> known(key) }.toMap
  }

  /** Has a random key wrapped and unwrapped. */
  def tryOut(masterKeyId: String, where: String): Unit = {
    val key = AesKey.random(Rewrapping.TrialBits, new SecureRandom)
    val wrapped = kms.wrap(key, masterKeyId, where)
    val opened = kms.opened(Seq(wrapped), masterKeyId, where).head.fold(failed => throw failed, identity)
    if (opened != key) throw opensAsAnother(where)
  }

  private def opensAsAnother(where: String) =
    PmeErrors.kmsUnavailable(where, s"what ${kms.describe} wrapped opens as another key")

  /** What [[apply]] would say if nothing failed, without asking the KMS; of what is not yet wrapped, no wrapped form. */
  def foresee(keys: Seq[(WrappedKey, String)]): Map[WrappedKey, Answer] =
    keys.map { case (key, masterKeyId) =>
      key -> Right(if (kms.isDone(key)) key else WrappedKey(masterKeyId, "", key.kekId))
    }.toMap

  /** The first group by itself: a KMS that does not serve is asked once. */
  private def wrapAll(groups: Seq[Seq[Job]], where: String): Unit = {
    def attempts(some: Seq[Seq[Job]]) = KmsThreads.all(some.map(jobs => () => attempt(jobs, where))).flatten
    val first = attempts(groups.take(1))
    val others = Kms.notServing(first.map(_._2)) match {
      case Some(failed) => groups.drop(1).flatten.map(_ -> Left(failed))
      case None => attempts(groups.drop(1))
    }
    (first ++ others).foreach { case (job, answer) => known(job.key) = answer }
  }

  /** @param jobs all from one master key to one */
  private def attempt(jobs: Seq[Job], where: String): Seq[(Job, Answer)] = {
    val (from, to) = jobs.head.way
    val keys = jobs.map(job => job.key -> job.lent.key)
    val made = Kms.paired(jobs, kms.wrapAnew(keys, from, to, where))
    val texts = made.collect { case (_, Right(text)) => text }.distinct
    val opened = Kms.paired(texts, kms.opened(texts, to, where)).toMap
    val answers: Seq[(Job, Answer)] = made.map { case (job, wrapped) =>
      job -> wrapped.flatMap(text => opened(text).flatMap(key => proven(job, text, key, where)))
    }
    // Nothing was refused where the rotation itself was ended.
    answers.foreach {
      case (_, Left(failed)) if PmeException.isOfCancelled(failed) => throw failed
      case _ => ()
    }
    answers
  }

  private def proven(job: Job, wrapped: String, opened: AesKey, where: String): Answer =
    if (opened == job.lent.key) Right(WrappedKey(job.masterKeyId, wrapped, job.key.kekId))
    else Left(opensAsAnother(where))
}

object Rewrapping {
  private val TrialBits = 128

  /** What a key became, or why it could not be wrapped anew. */
  type Answer = Either[PmeException, WrappedKey]

  private final case class Job(key: WrappedKey, lent: LentKey, masterKeyId: String) {

    /** From which master key to which. */
    def way: (String, String) = key.masterKeyId -> masterKeyId
  }

  private def isUnavailable(answer: Answer) = answer.left.exists(_.condition == Condition.KmsUnavailable)
}
