package io.pmeparquet.keys

import java.util.concurrent.{Callable, ExecutionException, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

import scala.collection.JavaConverters._

/** The threads of this JVM that call a KMS where several calls can be made at the same time. */
private[keys] object KmsThreads {

  /** As many calls as go out at once. */
  private val Most = 32
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

  /** Makes all calls, in this thread where there is but one. */
  def all[A](calls: Seq[() => A]): Seq[A] =
    if (calls.size < 2) calls.map(_())
    else
      try threads.invokeAll(calls.map(call => (() => call()): Callable[A]).asJava).asScala.map(_.get).toSeq
      catch { case failed: ExecutionException => throw failed.getCause }
}
