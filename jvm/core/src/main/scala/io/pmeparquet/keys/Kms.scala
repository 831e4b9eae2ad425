package io.pmeparquet.keys

import io.pmeparquet.{AesKey, Condition, PmeException}

/**
 * Where master keys live. Wraps and unwraps data keys (or the keys that encrypt data keys) under a master key, which
 * stays where it is. Implementations are safe for use by several threads.
 *
 * Failures are [[io.pmeparquet.PmeException]]s: `PME_KEY_NOT_FOUND`, `PME_KEY_DENIED`, `PME_KMS_UNAVAILABLE`,
 * `PME_NOT_AUTHENTIC`.
 */
trait Kms {

  /** What messages call it: `keystore keys.p12`. Holds no secret. */
  def describe: String

  /** What key material names as its KMS: parquet-java's `kmsInstanceID` and `kmsInstanceURL`. */
  def instanceId: String = Kms.Default
  def instanceUrl: String = Kms.Default

  /** @param where the file or job this is for, for messages */
  def wrap(key: AesKey, masterKeyId: String, where: String): String

  def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey

  /** Whether it serves several keys under one master key in one call, and answers for each. */
  def takesBatches: Boolean = false

  /**
   * Wraps several keys under one master key: in one call, where the KMS can.
   *
   * @return for each of them, in their order, its wrapped form or why there is none
   */
  def wrapAll(keys: Seq[AesKey], masterKeyId: String, where: String): Seq[Either[PmeException, String]] =
    Kms.oneByOne(keys)(wrap(_, masterKeyId, where))

  /** Unwraps several keys under one master key, as [[wrapAll]] wraps them. */
  def unwrapAll(wrapped: Seq[String], masterKeyId: String, where: String): Seq[Either[PmeException, AesKey]] =
    Kms.oneByOne(wrapped)(unwrap(_, masterKeyId, where))

  /**
   * Wraps keys anew, under the newest version of their master key, within the KMS; else as [[wrapAll]].
   *
   * @return none where the KMS has no such call: then keys are unwrapped and wrapped
   */
  def rewrapAll(
      wrapped: Seq[String],
      masterKeyId: String,
      where: String
  ): Option[Seq[Either[PmeException, String]]] = None

  /** The key of that name itself, for `keyManagement=direct`; none where master keys cannot leave the KMS. */
  def directKey(id: String, where: String): Option[AesKey]
}

object Kms {

  /** What parquet-java writes for a KMS without instances. */
  val Default = "DEFAULT"

  /** By calls for one item each, after each other. */
  private[keys] def oneByOne[A, B](items: Seq[A])(call: A => B): Seq[Either[PmeException, B]] =
    inBatches(items.grouped(1))(_.map(item => Right(call(item))))

  /** By calls for one item each, of which many are under way at the same time, but for the first. */
  private[pmeparquet] def atOnce[A, B](items: Seq[A])(call: A => B): Seq[Either[PmeException, B]] =
    inBatches(Iterator(items.take(1)) ++ items.drop(1).grouped(KmsThreads.Most)) { some =>
      KmsThreads.all(some.map(item => () => answer(call(item))))
    }

  /** By a call for each batch; a failure is the answer for each item that was asked for with it. */
  private[keys] def inBatches[A, B](batches: Iterator[Seq[A]])(
      call: Seq[A] => Seq[Either[PmeException, B]]
  ): Seq[Either[PmeException, B]] = {
    var unserved = Option.empty[PmeException]
    batches.flatMap { some =>
      val answers: Seq[Either[PmeException, B]] = unserved match {
        case Some(failed) => some.map(_ => Left(failed))
        case None => answer(call(some)).fold(failed => some.map(_ => Left(failed)), identity)
      }
      // Who served none of these will not serve the next.
      unserved = notServing(answers)
      answers
    }.toVector
  }

  /** Why none of them was served; none where one was, or was refused for reasons of its own. */
  private[keys] def notServing(answers: Seq[Either[PmeException, Any]]): Option[PmeException] =
    answers.headOption.flatMap(_.left.toOption).filter { _ =>
      answers.forall(_.left.toOption.exists(_.condition == Condition.KmsUnavailable))
    }

  private[keys] def answer[A](call: => A): Either[PmeException, A] =
    try Right(call)
    catch { case failed: PmeException => Left(failed) }

  /** Each with its answer. */
  private[keys] def paired[A, B](asked: Seq[A], answers: Seq[B]): Seq[(A, B)] = {
    if (answers.size != asked.size)
      throw new IllegalStateException(s"internal error: ${answers.size} answers of ${asked.size}")
    asked.zip(answers)
  }
}
