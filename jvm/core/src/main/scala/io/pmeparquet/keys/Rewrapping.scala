package io.pmeparquet.keys

import java.security.SecureRandom
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException}

/**
 * Wraps each distinct key again once, and verifies that the result unwraps to the same key before the old one is replaced.
 * ''Driver only.''
 *
 * @param source unwraps with `kms`, and caches what it unwrapped
 */
final class Rewrapping(kms: RotationKms, source: KmsSource) {
  import Rewrapping._

  private val known = mutable.Map.empty[WrappedKey, Answer]

  /**
   * @param keys with the new master key of each. All of them are proven keys of their files, so the KMS is not made to
   *   unwrap and wrap what an attacker put in their place
   * @return for each key its new form (the same if it was done before), or why it could not be wrapped
   */
  def apply(keys: Seq[(WrappedKey, String)], where: String): Map[WrappedKey, Answer] = {
    // Later keys are asked for again; the first of them shows whether the KMS works again.
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

  /** Wraps and unwraps a random key. */
  def tryOut(masterKeyId: String, where: String): Unit = {
    val key = AesKey.random(Rewrapping.TrialBits, new SecureRandom)
    val wrapped = kms.wrap(key, masterKeyId, where)
    val opened = kms.opened(Seq(wrapped), masterKeyId, where).head.fold(failed => throw failed, identity)
    if (opened != key) throw opensAsAnother(where)
  }

  private def opensAsAnother(where: String) =
    PmeErrors.kmsUnavailable(where, s"${kms.describe} wrapped a key, but unwraps it to a different one")

  /** What [[apply]] would return without failures, without calling the KMS; keys that are not done have no wrapped form. */
  def foresee(keys: Seq[(WrappedKey, String)]): Map[WrappedKey, Answer] =
    keys.map { case (key, masterKeyId) =>
      key -> Right(if (kms.isDone(key)) key else WrappedKey(masterKeyId, "", key.kekId))
    }.toMap

  /** The first group separately, so that a KMS that is down is called once. */
  private def wrapAll(groups: Seq[Seq[Job]], where: String): Unit = {
    def attempts(some: Seq[Seq[Job]]) = KmsThreads.all(some.map(jobs => () => attempt(jobs, where))).flatten
    val first = attempts(groups.take(1))
    val others = Kms.notServing(first.map(_._2)) match {
      case Some(failed) => groups.drop(1).flatten.map(_ -> Left(failed))
      case None => attempts(groups.drop(1))
    }
    (first ++ others).foreach { case (job, answer) => known(job.key) = answer }
  }

  /** @param jobs all with the same old and new master key */
  private def attempt(jobs: Seq[Job], where: String): Seq[(Job, Answer)] = {
    val (from, to) = jobs.head.way
    val keys = jobs.map(job => job.key -> job.lent.key)
    val made = Kms.paired(jobs, kms.wrapAnew(keys, from, to, where))
    val texts = made.collect { case (_, Right(text)) => text }.distinct
    val opened = Kms.paired(texts, kms.opened(texts, to, where)).toMap
    val answers: Seq[(Job, Answer)] = made.map { case (job, wrapped) =>
      job -> wrapped.flatMap(text => opened(text).flatMap(key => proven(job, text, key, where)))
    }
    // A cancelled rotation is not a refusal.
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

  /** The new form of a key, or why it could not be wrapped. */
  type Answer = Either[PmeException, WrappedKey]

  private final case class Job(key: WrappedKey, lent: IssuedKey, masterKeyId: String) {

    /** The old and the new master key. */
    def way: (String, String) = key.masterKeyId -> masterKeyId
  }

  private def isUnavailable(answer: Answer) = answer.left.exists(_.condition == Condition.KmsUnavailable)
}

/**
 * The old and the new KMS of a rotation. A key that the first does not unwrap is tried with the second, because a rotation
 * that is run again meets files that are done. ''Driver only.''
 */
final class RotationKms(before: Kms, after: Option[Kms]) extends Kms {
  private val done = ConcurrentHashMap.newKeySet[(String, String)]
  private val target = after.getOrElse(before)

  override def describe: String = before.describe
  override def instanceId: String = target.instanceId
  override def instanceUrl: String = target.instanceUrl
  override def takesBatches: Boolean = before.takesBatches

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    target.wrap(key, masterKeyId, where)

  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey =
    unwrapAll(Seq(wrapped), masterKeyId, where).head.fold(failed => throw failed, identity)

  override def unwrapAll(
      wrapped: Seq[String],
      masterKeyId: String,
      where: String
  ): Seq[Either[PmeException, AesKey]] = {
    val first = before.unwrapAll(wrapped, masterKeyId, where)
    // Whatever the error: clients of users fail in many ways for a key that another KMS wrapped.
    val missing = wrapped.zip(first).collect {
      case (one, Left(failed)) if !PmeException.isOfCancelled(failed) => one
    }
    val second = after.filter(_ => missing.nonEmpty).fold(Map.empty[String, AesKey]) { kms =>
      Kms
        .paired(missing, kms.unwrapAll(missing, masterKeyId, where))
        .collect { case (one, Right(key)) => one -> key }
        .toMap
    }
    second.keys.foreach(one => done.add(masterKeyId -> one))
    wrapped.zip(first).map { case (one, answer) => second.get(one).fold(answer)(Right(_)) }
  }

  override def directKey(id: String, where: String): Option[AesKey] = before.directKey(id, where)

  /** Whether a key is already wrapped by its new master key. */
  private[keys] def isDone(key: WrappedKey): Boolean = done.contains(key.masterKeyId -> key.wrapped)

  /** Wraps keys of one master key again; within the KMS if they only move to its newest version. */
  private[keys] def wrapAnew(
      keys: Seq[(WrappedKey, AesKey)],
      from: String,
      to: String,
      where: String
  ): Seq[Either[PmeException, String]] = {
    val within =
      if (after.isEmpty && from == to) before.rewrapAll(keys.map(_._1.wrapped), to, where) else None
    within.getOrElse(target.wrapAll(keys.map(_._2), to, where))
  }

  /** Calls the KMS itself, and only the one that wrapped them. */
  private[keys] def opened(
      wrapped: Seq[String],
      masterKeyId: String,
      where: String
  ): Seq[Either[PmeException, AesKey]] = target.unwrapAll(wrapped, masterKeyId, where)
}
