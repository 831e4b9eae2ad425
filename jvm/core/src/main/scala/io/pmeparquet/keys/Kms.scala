package io.pmeparquet.keys

import java.util.concurrent.{
  Callable,
  ExecutionException,
  FutureTask,
  LinkedBlockingQueue,
  ThreadPoolExecutor,
  TimeUnit
}

import scala.util.Try

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException}

/**
 * A store of master keys. It wraps and unwraps data keys (or keys that encrypt data keys) with a master key, which never
 * leaves it. Implementations are thread-safe.
 *
 * Failures are [[io.pmeparquet.PmeException]]s: `PME_KEY_NOT_FOUND`, `PME_KEY_DESTROYED`, `PME_KEY_DENIED`,
 * `PME_KMS_UNAVAILABLE`, `PME_NOT_AUTHENTIC`.
 */
trait Kms {

  /** Its name in messages: `keystore keys.p12`. Contains no secret. */
  def describe: String

  /** The KMS in key material: parquet-java's `kmsInstanceID` and `kmsInstanceURL`. */
  def instanceId: String = Kms.Default
  def instanceUrl: String = Kms.Default

  /** @param where the file or job this is for, for messages */
  def wrap(key: AesKey, masterKeyId: String, where: String): String

  def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey

  /** Whether one call can serve several keys of one master key, with an answer for each. */
  def takesBatches: Boolean = false

  /**
   * Wraps several keys with one master key, in one call if the KMS can.
   *
   * @return for each key, in order, its wrapped form or why there is none
   */
  def wrapAll(keys: Seq[AesKey], masterKeyId: String, where: String): Seq[Either[PmeException, String]] =
    Kms.oneByOne(keys)(wrap(_, masterKeyId, where))

  /** Unwraps several keys of one master key, as [[wrapAll]] wraps them. */
  def unwrapAll(wrapped: Seq[String], masterKeyId: String, where: String): Seq[Either[PmeException, AesKey]] =
    Kms.oneByOne(wrapped)(unwrap(_, masterKeyId, where))

  /**
   * Wraps keys again with the newest version of their master key, within the KMS; otherwise as [[wrapAll]].
   *
   * @return none if the KMS has no such call; then keys are unwrapped and wrapped
   */
  def rewrapAll(
      wrapped: Seq[String],
      masterKeyId: String,
      where: String
  ): Option[Seq[Either[PmeException, String]]] = None

  /** The master key itself, for `keyManagement=direct`; none if master keys cannot leave the KMS. */
  def directKey(id: String, where: String): Option[AesKey]

  /** The private key of this id, to sign with; fails if this kind of KMS does not sign. */
  def signingKey(id: String, where: String): SigningKey =
    throw PmeErrors.unsupported(
      where,
      s"signing with $describe",
      s"it has no private keys that sign, such as '$id'",
      s"Use a keystore, Vault, or the KMS of a cloud with ${PublicKeys.Supported}."
    )

  /** Makes and destroys master keys; none if this kind of KMS does not, or not from here. */
  def administration: Option[KeyAdministration] = None
}

object Kms {

  /** The value of parquet-java for a KMS without instances. */
  val Default = "DEFAULT"

  /** With one call for each item, one after the other. */
  private[pmeparquet] def oneByOne[A, B](items: Seq[A])(call: A => B): Seq[Either[PmeException, B]] =
    inBatches(items.grouped(1))(_.map(item => Right(call(item))))

  /** With one call for each item; after the first, several calls run at the same time. */
  private[pmeparquet] def atOnce[A, B](items: Seq[A])(call: A => B): Seq[Either[PmeException, B]] =
    inBatches(Iterator(items.take(1)) ++ items.drop(1).grouped(KmsThreads.Most)) { some =>
      KmsThreads.all(some.map(item => () => answer(call(item))))
    }

  /** With one call for each batch; its failure is the answer for each item of the batch. */
  private[pmeparquet] def inBatches[A, B](batches: Iterator[Seq[A]])(
      call: Seq[A] => Seq[Either[PmeException, B]]
  ): Seq[Either[PmeException, B]] = {
    var unserved = Option.empty[PmeException]
    batches.flatMap { some =>
      val answers: Seq[Either[PmeException, B]] = unserved match {
        case Some(failed) => some.map(_ => Left(failed))
        case None => answer(call(some)).fold(failed => some.map(_ => Left(failed)), identity)
      }
      // A KMS that served none of these will not serve the next.
      unserved = notServing(answers)
      answers
    }.toVector
  }

  /** Why none of them was served; none if one was served, or refused for its own reason. */
  private[pmeparquet] def notServing(answers: Seq[Either[PmeException, Any]]): Option[PmeException] =
    answers.headOption.flatMap(_.left.toOption).filter { _ =>
      answers.forall(_.left.toOption.exists(_.condition == Condition.KmsUnavailable))
    }

  private[pmeparquet] def answer[A](call: => A): Either[PmeException, A] =
    try Right(call)
    catch { case failed: PmeException => Left(failed) }

  /** Items with their answers. */
  private[pmeparquet] def paired[A, B](asked: Seq[A], answers: Seq[B]): Seq[(A, B)] = {
    if (answers.size != asked.size)
      throw new IllegalStateException(s"internal error: ${answers.size} answers of ${asked.size}")
    asked.zip(answers)
  }
}

/** For reading files without a KMS. */
object NoKms extends Kms {
  override def describe: String = "a reader without a KMS"
  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    throw missing(masterKeyId, where)
  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey =
    throw missing(masterKeyId, where)
  override def directKey(id: String, where: String): Option[AesKey] = throw missing(id, where)

  private def missing(masterKeyId: String, where: String) =
    PmeErrors.keyNotFound(where, masterKeyId, describe)
}

/** The threads of this JVM for concurrent calls of a KMS. */
private[pmeparquet] object KmsThreads {

  /** The number of concurrent calls. */
  val Most = 32
  private val IdleSeconds = 30L

  private lazy val threads = {
    val pool = new ThreadPoolExecutor(
      Most,
      Most,
      IdleSeconds,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable],
      (work: Runnable) => {
        val thread = new Thread(work, "pme-parquet-kms")
        thread.setDaemon(true)
        thread
      }
    )
    pool.allowCoreThreadTimeOut(true)
    pool
  }

  /**
   * Makes all calls; a single one in this thread. This thread also makes calls that no other thread has begun: a call may
   * itself make other calls here, and if all threads only waited, nobody would make them.
   */
  def all[A](calls: Seq[() => A]): Seq[A] =
    if (calls.size < 2) calls.map(_())
    else {
      val asked = KmsCalls.ofCaller
      val tasks =
        calls.map(call => new FutureTask[A]((() => KmsCalls.in(asked)(call())): Callable[A])).toVector
      try {
        tasks.drop(1).foreach(threads.execute(_))
        tasks.foreach(_.run())
        // All calls have ended before a failure is thrown.
        tasks.map(task => Try(task.get)).map(_.get)
      } catch { case failed: ExecutionException => throw failed.getCause }
      finally tasks.foreach(_.cancel(true))
    }
}
