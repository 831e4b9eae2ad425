package io.pmeparquet.keys

import java.util.concurrent.{CancellationException, CompletableFuture, ConcurrentHashMap, ExecutionException}

import scala.annotation.tailrec

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException, RecentValues}

/**
 * Asks a KMS once for each key and caches the answer: keys for their lifetime, refusals for some seconds. So a thousand
 * tasks that need the same key cause one call, whatever the answer.
 *
 * @param lifetimeMillis how long an unwrapped key may be used before the KMS is asked again
 * @param noticed called with the keys that the KMS is about to unwrap
 * @param halfUsed called with the name of a key that has encrypted half of what one key may
 */
final class KmsSource(
    kms: Kms,
    lifetimeMillis: Long,
    now: () => Long = RecentValues.monotonicMillis,
    noticed: Seq[WrappedKey] => Unit = _ => (),
    halfUsed: String => Unit = _ => (),
    uses: KeyUses = KeyUses.ofJvm
) extends KeySource {
  import KmsSource._

  private val lent = new RecentValues[WrappedKey, Lent](MaxKept, lifetimeMillis, now)
  private val refused = new RecentValues[WrappedKey, Refusal](MaxKept, RefusalMillis, now)

  /** Calls that are under way, for others to wait for. */
  private val asked = new ConcurrentHashMap[WrappedKey, CompletableFuture[Outcome]]

  override def describe: String = kms.describe
  override def instance: (String, String) = kms.instanceId -> kms.instanceUrl

  override def unwrap(keys: Seq[WrappedKey], where: String): Seq[Either[PmeException, IssuedKey]] = {
    val outcomes = outcomesOf(keys.distinct, where, Map.empty)
    keys.map(outcomes(_) match {
      case Right(Lent(key, until)) => Right(new IssuedKey(key, (until - now()).max(0)))
      case Left(refusal) => Left(refusal.failure.movedTo(where, from = refusal.where))
    })
  }

  /**
   * Unwraps keys together that will be requested one by one, up to the size of the cache. A refusal is thrown later,
   * when its key is requested.
   */
  def prepare(keys: Seq[WrappedKey], where: String): Unit = {
    val some = keys.distinct.take(MaxKept)
    // Without a cache each key would be requested twice.
    if (some.size > 1 && lifetimeMillis > 0) unwrap(some, where)
    ()
  }

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    kms.wrap(key, masterKeyId, where)

  /**
   * Wraps each key under the master key of its pair, grouped by master key. The first group goes alone, so that a KMS
   * that is down is called once; the others go at the same time.
   *
   * @throws io.pmeparquet.PmeException if the KMS wraps one of them not; if it lacks master keys, with the names of all
   */
  def wrapAll(keys: Seq[(AesKey, String)], where: String): Seq[String] = {
    val byMasterKey = keys.distinct.groupBy(_._2)
    def wrapped(masterKeyIds: Seq[String]) = KmsThreads
      .all(masterKeyIds.map { id => () =>
        val own = byMasterKey(id)
        Kms.paired(
          own,
          Kms
            .answer(kms.wrapAll(own.map(_._1), id, where))
            .fold(failed => own.map(_ => Left(failed)), identity)
        )
      })
      .flatten
    val masterKeyIds = keys.map(_._2).distinct
    val first = wrapped(masterKeyIds.take(1))
    first.foreach(_._2.left.foreach(failed => if (failed.condition != Condition.KeyNotFound) throw failed))
    val all = first ++ wrapped(masterKeyIds.drop(1))
    val failures = all.collect { case ((_, id), Left(failed)) => id -> failed }
    failures.map(_._2).find(_.condition != Condition.KeyNotFound).foreach(throw _)
    failures.map(_._1).distinct match {
      case Seq() => ()
      case Seq(_) => throw failures.head._2
      case missing => throw PmeErrors.keysNotFound(where, missing, kms.describe)
    }
    keys.map(all.collect { case (key, Right(made)) => key -> made }.toMap)
  }

  override def directKey(id: String, where: String): Option[AesKey] = kms.directKey(id, where)

  override def reserve(id: String, more: Long, where: String): Unit = {
    val key = directKey(id, where).getOrElse(
      throw new IllegalStateException(s"internal error: ${kms.describe} does not give keys out")
    )
    if (uses.reserve(key, id, more, where)) halfUsed(id)
  }

  /** Removes expired entries. */
  def sweep(): Unit = {
    lent.sweep()
    refused.sweep()
  }

  @tailrec
  private def outcomesOf(
      keys: Seq[WrappedKey],
      where: String,
      before: Map[WrappedKey, Outcome]
  ): Map[WrappedKey, Outcome] = {
    val (own, others) = keys.map(key => key -> claim(key)).partition(_._2.isLeft)
    val found = before ++
      ask(own.collect { case (key, Left(mine)) => key -> mine }, where) ++
      others.collect { case (key, Right(theirs)) => awaited(theirs).map(key -> _) }.flatten
    val again = keys.filterNot(found.contains)
    if (again.isEmpty) found else outcomesOf(again, where, found)
  }

  /** Left: this thread must ask, and complete it. Right: cached, or another thread is asking. */
  private def claim(key: WrappedKey): Either[CompletableFuture[Outcome], CompletableFuture[Outcome]] =
    remembered(key).map(CompletableFuture.completedFuture[Outcome]).map(Right(_)).getOrElse {
      val mine = new CompletableFuture[Outcome]
      val theirs = asked.putIfAbsent(key, mine)
      if (theirs != null) Right(theirs)
      else
        // Another thread may have finished since we looked.
        remembered(key).fold[Either[CompletableFuture[Outcome], CompletableFuture[Outcome]]](Left(mine)) {
          outcome =>
            asked.remove(key, mine)
            mine.complete(outcome)
            Right(mine)
        }
    }

  private def remembered(key: WrappedKey): Option[Outcome] =
    lent.find(key).map(Right(_)).orElse(refused.find(key).map(Left(_)))

  private def ask(
      own: Seq[(WrappedKey, CompletableFuture[Outcome])],
      where: String
  ): Seq[(WrappedKey, Outcome)] =
    try {
      val byMasterKey = own.groupBy(_._1.masterKeyId).toSeq
      if (own.nonEmpty) noticed(own.map(_._1))
      KmsThreads
        .all(byMasterKey.map { case (masterKeyId, some) =>
          () =>
            Kms
              .paired(some, kms.unwrapAll(some.map(_._1.wrapped), masterKeyId, where))
              .map { case ((key, mine), answer) => key -> remember(key, mine, answer, where) }
        })
        .flatten
    } finally
      own.foreach { case (key, mine) =>
        asked.remove(key, mine)
        // Without an outcome, waiting threads ask for themselves.
        mine.cancel(false)
      }

  private def remember(
      key: WrappedKey,
      mine: CompletableFuture[Outcome],
      answer: Either[PmeException, AesKey],
      where: String
  ): Outcome = {
    val outcome = answer.fold(
      failed => Left(Refusal(failed, where)),
      unwrapped => Right(Lent(unwrapped, now() + lifetimeMillis))
    )
    outcome match {
      case Right(one) => lent.put(key, one, lifetimeMillis)
      case Left(refusal) => if (!refusal.isOfCancelled) refused.put(key, refusal, RefusalMillis)
    }
    if (!outcome.left.toOption.exists(_.isOfCancelled)) mine.complete(outcome)
    outcome
  }

  private def awaited(theirs: CompletableFuture[Outcome]): Option[Outcome] =
    try Some(theirs.get())
    catch { case _: CancellationException | _: ExecutionException => None }
}

private object KmsSource {
  type Outcome = Either[Refusal, Lent]

  final case class Lent(key: AesKey, until: Long)

  /** @param where what the first caller wanted the key for */
  final case class Refusal(failure: PmeException, where: String) {

    /** Whether the query was cancelled, and the KMS did not refuse. */
    def isOfCancelled: Boolean = PmeException.isOfCancelled(failure)
  }

  val MaxKept = 10000

  /** Long enough for the tasks of a stage to fail on one answer, short enough for a user who gets access meanwhile. */
  val RefusalMillis = 10000L
}
