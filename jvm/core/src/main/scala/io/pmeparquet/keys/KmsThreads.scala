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
      val tasks = calls.map(call => new FutureTask[A]((() => call()): Callable[A])).toVector
      try {
        tasks.drop(1).foreach(threads.execute(_))
        tasks.foreach(_.run())
        // All calls have ended before a failure is thrown.
        tasks.map(task => Try(task.get)).map(_.get)
      } catch { case failed: ExecutionException => throw failed.getCause }
      finally tasks.foreach(_.cancel(true))
    }
}
