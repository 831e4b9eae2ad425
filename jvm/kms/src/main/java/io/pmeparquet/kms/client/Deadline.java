package io.pmeparquet.kms.client;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * When one wrap or unwrap of a KMS client is to be over: {@code kms.timeoutSeconds} after it began, with whatever it takes
 * to log in and to try again.
 */
public final class Deadline {
  private final long limitMillis;
  private final long endNanos;

  private Deadline(long limitMillis) {
    this.limitMillis = limitMillis;
    this.endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
  }

  public static Deadline in(long millis) {
    return new Deadline(millis);
  }

  /** Not less than 0. */
  public long leftMillis() {
    return Math.max(0, TimeUnit.NANOSECONDS.toMillis(endNanos - System.nanoTime()));
  }

  /**
   * Makes a call that has no limit of its own, on a thread that is interrupted and left alone when time is up.
   *
   * @param what as the beginning of a sentence: "… did not end within 30 s"
   * @throws ExecutionException for what the call throws, which is its cause
   * @throws KmsFailure {@code UNAVAILABLE}, where time is up
   */
  public <T> T call(String what, Callable<T> call) throws ExecutionException {
    FutureTask<T> task = new FutureTask<>(call);
    startThread(task);
    try {
      return await(what, task);
    } finally {
      task.cancel(true);
    }
  }

  <T> T await(String what, Future<T> future) throws ExecutionException {
    try {
      return future.get(leftMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException slow) {
      throw KmsFailure.unavailable(late(what, limitMillis), slow);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw KmsFailure.unavailable("waiting for " + what + " was interrupted", interrupted);
    }
  }

  static String late(String what, long limitMillis) {
    return what + " did not end within " + limitMillis / 1000 + " s (kms.timeoutSeconds)";
  }

  static void startThread(Runnable task) {
    Thread thread = new Thread(task, "pme-kms-call");
    thread.setDaemon(true);
    thread.start();
  }
}
