package io.pmeparquet.kms.local

import java.util.concurrent.{Callable, ExecutionException, FutureTask, Semaphore, TimeUnit, TimeoutException}

import io.pmeparquet.{PmeErrors, RecentValues}

/**
 * Calls that may hang in native code, which cannot be interrupted. Each has its own thread, which is abandoned after the
 * time limit. For ten seconds after that, all calls fail at once. A hanging call keeps its place among `most`, so at most
 * that many threads hang.
 *
 * @param what the beginning of a sentence: "… gave no answer within 30 s"
 */
private[kms] final class LimitedCalls(
    what: String,
    most: Int,
    now: () => Long = RecentValues.monotonicMillis
) {
  import LimitedCalls._

  private val places = new Semaphore(most)
  @volatile private var toldUntil = Long.MinValue

  /** @param where what the call is for, for messages */
  def apply[A](where: String, timeoutMillis: Long)(call: => A): A = {
    def late(cause: Throwable) = PmeErrors.kmsUnavailable(
      where,
      s"$what gave no answer within ${timeoutMillis / 1000} s (kms.timeoutSeconds)",
      cause
    )
    if (now() < toldUntil) throw late(null)
    try inTime(timeoutMillis)(call)
    catch {
      case slow: TimeoutException =>
        toldUntil = now() + ToldMillis
        throw late(slow)
      case interrupted: InterruptedException =>
        Thread.currentThread().interrupt()
        throw PmeErrors.kmsUnavailable(where, s"waiting for $what was interrupted", interrupted)
    }
  }

  private def inTime[A](millis: Long)(call: => A): A = {
    val end = now() + millis
    if (!places.tryAcquire(millis, TimeUnit.MILLISECONDS)) throw new TimeoutException
    val task = new FutureTask[A]((() => call): Callable[A])
    val thread = new Thread(
      () =>
        try task.run()
        finally places.release(),
      "pme-parquet-token"
    )
    thread.setDaemon(true)
    thread.start()
    try task.get((end - now()).max(0), TimeUnit.MILLISECONDS)
    catch { case failed: ExecutionException => throw failed.getCause }
    finally {
      task.cancel(true)
      ()
    }
  }
}

private[kms] object LimitedCalls {

  /** As long as a failed login is cached, too. */
  val ToldMillis = 10000L
}
