package io.pmeparquet.keys

import java.util.concurrent.ConcurrentHashMap

import io.pmeparquet.{AesKey, PmeException}

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
