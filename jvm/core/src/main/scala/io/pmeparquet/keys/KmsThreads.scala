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

/** The threads of this JVM that call a KMS where several calls can be made at the same time. */
private[keys] object KmsThreads {

  /** As many calls as go out at once. */
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
   * Makes all calls, in this thread where there is but one. It makes those too that no other has begun: a call may itself
   * have others made here, and if all threads only waited, none would make them.
   */
  def all[A](calls: Seq[() => A]): Seq[A] =
    if (calls.size < 2) calls.map(_())
    else {
      val tasks = calls.map(call => new FutureTask[A]((() => call()): Callable[A])).toVector
      try {
        tasks.drop(1).foreach(threads.execute(_))
        tasks.foreach(_.run())
        // All of them have ended before a failure is told.
        tasks.map(task => Try(task.get)).map(_.get)
      } catch { case failed: ExecutionException => throw failed.getCause }
      finally tasks.foreach(_.cancel(true))
    }
}
