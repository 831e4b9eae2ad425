package io.pmeparquet.kms.audit

import scala.util.control.NonFatal

import io.pmeparquet.{AesKey, PmeException}
import io.pmeparquet.keys.{KeyAdministration, KeyAudit, KeyState, Kms, KmsCalls, SigningKey}

/**
 * Records what a KMS decides, before anybody gets the answer: a key whose use must be recorded and was not is not given
 * out. A key that stays in memory for its lifetime is recorded once.
 */
private[audit] final class RecordedKms(kms: Kms, audit: KeyAudit, record: KeyEvent => Unit) extends Kms {
  import KeyAction._

  override def describe: String = kms.describe
  override def instanceId: String = kms.instanceId
  override def instanceUrl: String = kms.instanceUrl
  override def takesBatches: Boolean = kms.takesBatches

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    one(Wrap, masterKeyId, where)(kms.wrap(key, masterKeyId, where))

  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey =
    one(Unwrap, masterKeyId, where)(kms.unwrap(wrapped, masterKeyId, where))

  override def wrapAll(
      keys: Seq[AesKey],
      masterKeyId: String,
      where: String
  ): Seq[Either[PmeException, String]] =
    all(Wrap, keys.size, masterKeyId, where)(Some(kms.wrapAll(keys, masterKeyId, where))).get

  override def unwrapAll(
      wrapped: Seq[String],
      masterKeyId: String,
      where: String
  ): Seq[Either[PmeException, AesKey]] =
    all(Unwrap, wrapped.size, masterKeyId, where)(Some(kms.unwrapAll(wrapped, masterKeyId, where))).get

  override def rewrapAll(
      wrapped: Seq[String],
      masterKeyId: String,
      where: String
  ): Option[Seq[Either[PmeException, String]]] =
    all(Rewrap, wrapped.size, masterKeyId, where)(kms.rewrapAll(wrapped, masterKeyId, where))

  /** None is no use of a key: this KMS gives none out. */
  override def directKey(id: String, where: String): Option[AesKey] = {
    val (answer, requests) = KmsCalls.listening(attempt(kms.directKey(id, where)))
    if (answer != Right(None)) note(Direct, 1, id, where, requests, answer.left.toOption)
    answer.fold(failed => throw failed, identity)
  }

  override def signingKey(id: String, where: String): SigningKey =
    one(Sign, id, where)(kms.signingKey(id, where))

  override def administration: Option[KeyAdministration] = kms.administration.map(new Recorded(_))

  /** Looking at states of keys uses none. */
  private[audit] final class Recorded(keys: KeyAdministration) extends KeyAdministration {
    override def consequence: String = keys.consequence
    override def forgets: Boolean = keys.forgets
    override def state(id: String, where: String): KeyState = keys.state(id, where)
    override def states(ids: Seq[String], where: String): Map[String, KeyState] = keys.states(ids, where)
    override def nameOf(id: String, where: String): String = keys.nameOf(id, where)
    override def namesOf(ids: Seq[String], where: String): Map[String, String] = keys.namesOf(ids, where)

    override def create(ids: Seq[String], where: String): Unit = {
      val (answer, requests) = KmsCalls.listening(attempt(keys.create(ids, where)))
      ids.foreach(note(Create, 1, _, where, requests, answer.left.toOption))
      answer.fold(failed => throw failed, identity)
    }

    /** Nothing is destroyed unless the record says that it was asked for. */
    override def destroy(id: String, where: String): KeyState = {
      record(event(Destroy, 1, id, where, Nil, KeyResult.Asked))
      one(Destroy, id, where)(keys.destroy(id, where))
    }
  }

  private def one[A](action: KeyAction, id: String, where: String)(call: => A): A = {
    val (answer, requests) = KmsCalls.listening(attempt(call))
    note(action, 1, id, where, requests, answer.left.toOption)
    answer.fold(failed => throw failed, identity)
  }

  /** Each of several keys has its own answer, and those that are alike are one event. */
  private def all[A](action: KeyAction, asked: Int, id: String, where: String)(
      call: => Option[Seq[Either[PmeException, A]]]
  ): Option[Seq[Either[PmeException, A]]] = {
    val (answer, requests) = KmsCalls.listening(attempt(call))
    answer match {
      case Left(failed) =>
        note(action, asked, id, where, requests, Some(failed))
        throw failed
      case Right(answers) =>
        try {
          answers.toSeq.flatten.map(_.left.toOption).groupBy(_.map(_.condition)).values.foreach { alike =>
            note(action, alike.size, id, where, requests, alike.head)
          }
          answers
        } catch {
          case failed: PmeException => Some(Seq.fill(asked)(Left(failed)))
        }
    }
  }

  /** A failure that nobody foresaw is one of the KMS, too. */
  private def attempt[A](call: => A): Either[Throwable, A] =
    try Right(call)
    catch { case NonFatal(failed) => Left(failed) }

  private def note(
      action: KeyAction,
      keys: Int,
      id: String,
      where: String,
      requests: Seq[String],
      failed: Option[Throwable]
  ): Unit = record(event(action, keys, id, where, requests, KeyResult.of(failed)))

  private def event(
      action: KeyAction,
      keys: Int,
      id: String,
      where: String,
      requests: Seq[String],
      result: KeyResult
  ) = KeyEvent(audit, KmsCalls.caller, kms.describe, id, action, keys, result, where, requests)
}
