package io.pmeparquet.kms.client;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The login of a KMS client whose calls hold a token. All threads share it, and while one is under way they wait for it.
 * If a login fails or hangs, no other attempt is made for ten seconds: all calls fail as it did.
 */
public final class KmsLogin {
  private static final long REMEMBERED_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** What requests say who they are from with: it has a token in it, and no text form. */
  public static final class Pass {
    final Map<String, String> headers;
    private final long seconds;

    /** @param seconds how long it is to be used */
    public Pass(Map<String, String> headers, long seconds) {
      this.headers = headers;
      this.seconds = seconds;
    }
  }

  /** Where tokens come from. */
  @FunctionalInterface
  public interface Issuer {
    /**
     * @param isRefused whether the token before was refused, so that none that is kept will do
     * @throws KmsFailure that users see as it is
     */
    Pass logIn(boolean isRefused) throws Exception;
  }

  /** A pass, or why there is none, and till when that holds. */
  private record Outcome(Pass pass, KmsFailure failure, long endNanos) {}

  private final String name;
  private final long timeoutMillis;
  private final Issuer issuer;
  private final LongSupplier clock;
  private CompletableFuture<Outcome> latest;
  private boolean isRefused;

  /** @param name as the beginning of a sentence: "the login at …" */
  public KmsLogin(String name, long timeoutMillis, Issuer issuer) {
    this(name, timeoutMillis, issuer, System::nanoTime);
  }

  KmsLogin(String name, long timeoutMillis, Issuer issuer, LongSupplier clock) {
    this.name = name;
    this.timeoutMillis = timeoutMillis;
    this.issuer = issuer;
    this.clock = clock;
  }

  Pass pass(Deadline deadline) {
    Outcome outcome;
    try {
      outcome = deadline.await(name, current());
    } catch (ExecutionException failed) {
      throw undone(failed.getCause());
    }
    if (outcome.pass == null) {
      throw KmsFailure.unavailable(outcome.failure.getMessage(), outcome.failure);
    }
    return outcome.pass;
  }

  /** Unless there is another by now. */
  synchronized void forget(Pass refused) {
    if (latest != null && latest.isDone() && !latest.isCompletedExceptionally() && latest.join().pass == refused) {
      latest = null;
      isRefused = true;
    }
  }

  private synchronized CompletableFuture<Outcome> current() {
    if (latest == null || isOver(latest)) {
      boolean afresh = isRefused;
      isRefused = false;
      Outcome late = failed(KmsFailure.unavailable(Deadline.late(name, timeoutMillis), null), timeoutMillis);
      latest =
          CompletableFuture.supplyAsync(() -> outcome(afresh), Deadline::startThread)
              .completeOnTimeout(late, timeoutMillis, TimeUnit.MILLISECONDS);
    }
    return latest;
  }

  private boolean isOver(CompletableFuture<Outcome> login) {
    return login.isCompletedExceptionally() || login.isDone() && clock.getAsLong() - login.join().endNanos >= 0;
  }

  private Outcome outcome(boolean afresh) {
    try {
      Pass pass = issuer.logIn(afresh);
      return new Outcome(pass, null, clock.getAsLong() + TimeUnit.SECONDS.toNanos(pass.seconds));
    } catch (KmsFailure failed) {
      return failed(failed, 0);
    } catch (Exception failed) {
      return failed(undone(failed), 0);
    }
  }

  private Outcome failed(KmsFailure failure, long inMillis) {
    return new Outcome(null, failure, clock.getAsLong() + TimeUnit.MILLISECONDS.toNanos(inMillis) + REMEMBERED_NANOS);
  }

  private KmsFailure undone(Throwable failed) {
    return KmsFailure.unavailable(name + " failed (" + failed.getClass().getSimpleName() + ")", failed);
  }
}
