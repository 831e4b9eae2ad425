package io.pmeparquet.kms.gcp;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import com.google.api.client.http.HttpResponseException;
import com.google.auth.oauth2.GoogleCredentials;
import com.google.auth.oauth2.ServiceAccountCredentials;

import io.pmeparquet.kms.KmsFailure;

/** Access tokens of Google's: google-auth fetches them, and fetches others shortly before they end. */
final class GoogleLogin {
  private static final List<String> SCOPES = List.of("https://www.googleapis.com/auth/cloudkms");

  private final GoogleCredentials credentials;
  private final long timeoutMillis;

  /** @param key the JSON of a service account's key; without it, the application default credentials are used */
  GoogleLogin(Optional<String> key, long timeoutMillis) {
    this.timeoutMillis = timeoutMillis;
    GoogleCredentials found = key.isPresent() ? ofServiceAccount(key.get()) : ofMachine();
    this.credentials = found.createScoped(SCOPES);
  }

  /** What a request says who it is from with. */
  Map<String, String> headers() {
    Map<String, String> headers = new LinkedHashMap<>();
    inTime(credentials::getRequestMetadata).forEach((name, values) -> headers.put(name, String.join(",", values)));
    if (headers.values().stream().anyMatch(value -> !value.matches("[ -~]+"))) {
      throw KmsFailure.unavailable("the login at Google gave a token that is none", null);
    }
    return headers;
  }

  void renew() {
    inTime(
        () -> {
          credentials.refresh();
          return null;
        });
  }

  /** No other kind of credentials: one that comes from another cloud would say which files and addresses to read. */
  private static GoogleCredentials ofServiceAccount(String json) {
    try {
      return ServiceAccountCredentials.fromStream(new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8)));
    } catch (IOException | RuntimeException failed) {
      // Without the cause, whose message may repeat a part of the key.
      throw KmsFailure.badSetting("kms.gcp.credentials", "it does not refer to the JSON of a service account's key");
    }
  }

  private GoogleCredentials ofMachine() {
    return inTime(
        () -> {
          try {
            return GoogleCredentials.getApplicationDefault();
          } catch (IOException failed) {
            throw KmsFailure.unavailable("this machine has no application default credentials of Google's", failed);
          }
        });
  }

  /** On a thread of its own: google-auth has limits for the parts of a login, and none for all of it. */
  private <T> T inTime(Callable<T> call) {
    FutureTask<T> task = new FutureTask<>(call);
    Thread thread = new Thread(task, "pme-google-login");
    thread.setDaemon(true);
    thread.start();
    try {
      return task.get(timeoutMillis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException slow) {
      throw KmsFailure.unavailable("the login at Google did not end within " + timeoutMillis / 1000 + " s", slow);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw KmsFailure.unavailable("waiting for the login at Google was interrupted", interrupted);
    } catch (ExecutionException failed) {
      throw failed.getCause() instanceof KmsFailure ours ? ours : refused(failed.getCause());
    } finally {
      task.cancel(true);
    }
  }

  private static KmsFailure refused(Throwable failed) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof HttpResponseException answer) {
        return KmsFailure.unavailable("the login at Google was refused with status " + answer.getStatusCode(), failed);
      }
    }
    return KmsFailure.unavailable(
        "the login at Google could not be done (" + failed.getClass().getSimpleName() + ")", failed);
  }
}
