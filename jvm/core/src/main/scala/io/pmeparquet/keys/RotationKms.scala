package io.pmeparquet.keys

import java.util.concurrent.ConcurrentHashMap

import io.pmeparquet.{AesKey, PmeException}

/**
 * The master keys of a rotation: where keys come from, and where they go. A key that the first does not open is tried
 * with the second, since a rotation that was ended begins again among files that it has done. ''Driver only.''
 */
final class RotationKms(before: Kms, after: Option[Kms]) extends Kms {
  private val done = ConcurrentHashMap.newKeySet[(String, String)]
  private val target = after.getOrElse(before)

  override def describe: String = before.describe
  override def instanceId: String = target.instanceId
  override def instanceUrl: String = target.instanceUrl

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
    // Whatever it says of them: clients of users' own have many words for a key that another KMS wrapped.
    val missing = wrapped.zip(first).collect {
      case (one, Left(failed)) if !PmeException.isOfCancelled(failed) => one
    }
    val second = after.filter(_ => missing.nonEmpty).fold(Map.empty[String, AesKey]) { kms =>
      missing
        .zip(kms.unwrapAll(missing, masterKeyId, where))
        .collect { case (one, Right(key)) => one -> key }
        .toMap
    }
    second.keys.foreach(one => done.add(masterKeyId -> one))
    wrapped.zip(first).map { case (one, answer) => second.get(one).fold(answer)(Right(_)) }
  }

  override def directKey(id: String, where: String): Option[AesKey] = before.directKey(id, where)

  /** Whether a key that was unwrapped is already where it is to go. */
  private[keys] def isDone(key: WrappedKey): Boolean = done.contains(key.masterKeyId -> key.wrapped)

  /** A key wrapped anew: within the KMS, where it only goes to a new version of its master key. */
  private[keys] def rewrap(wrapped: WrappedKey, key: AesKey, masterKeyId: String, where: String): String = {
    val within =
      if (after.isEmpty && masterKeyId == wrapped.masterKeyId)
        before.rewrap(wrapped.wrapped, masterKeyId, where)
      else None
    within.getOrElse(target.wrap(key, masterKeyId, where))
  }

  /** Asks the KMS itself, and only that which wrapped it. */
  private[keys] def opens(wrapped: String, masterKeyId: String, where: String): AesKey =
    target.unwrap(wrapped, masterKeyId, where)
}
