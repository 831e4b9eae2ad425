package io.pmeparquet.kms.gcp;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import com.google.api.client.http.HttpResponseException;
import com.google.auth.oauth2.AccessToken;
import com.google.auth.oauth2.GoogleCredentials;
import com.google.auth.oauth2.ServiceAccountCredentials;

import io.pmeparquet.kms.client.KmsClientSettings;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsLogin;

/** Where access tokens of Google's come from: google-auth fetches them, and others shortly before they end. */
final class GoogleLogin implements KmsLogin.Issuer {
  private static final List<String> SCOPES = List.of("https://www.googleapis.com/auth/cloudkms");

  /** When google-auth fetches another, which earlier than that may give the same one again. */
  private static final long EARLY_SECONDS = 225;

  /** Null until the machine's own are looked for. */
  private volatile GoogleCredentials credentials;

  private GoogleLogin(GoogleCredentials credentials) {
    this.credentials = credentials;
  }

  /** With a service account's key, if there is one; else by the application default credentials. */
  static KmsLogin of(KmsClientSettings settings) {
    Optional<GoogleCredentials> given = settings.secret("kms.gcp.credentials").map(GoogleLogin::ofServiceAccount);
    return new KmsLogin("the login at Google", settings.timeoutMillis(), new GoogleLogin(given.orElse(null)));
  }

  @Override
  public KmsLogin.Pass logIn(boolean isRefused) {
    if (credentials == null) {
      credentials = ofMachine();
    }
    Map<String, String> headers = new LinkedHashMap<>();
    try {
      if (isRefused) {
        credentials.refresh();
      }
      credentials
          .getRequestMetadata()
          .forEach((name, values) -> headers.put(name, String.join(",", values)));
    } catch (IOException | RuntimeException failed) {
      throw refused(failed);
    }
    if (headers.values().stream().anyMatch(value -> !value.matches("[ -~]+"))) {
      throw KmsFailure.unavailable("the login at Google gave a token that cannot be used", null);
    }
    return new KmsLogin.Pass(headers, secondsOf(credentials.getAccessToken()) - EARLY_SECONDS);
  }

  private static long secondsOf(AccessToken token) {
    boolean known = token != null && token.getExpirationTime() != null;
    return known ? (token.getExpirationTime().getTime() - System.currentTimeMillis()) / 1000 : 0;
  }

  /** No other kind of credentials: one that comes from another cloud would say which files and addresses to read. */
  private static GoogleCredentials ofServiceAccount(String json) {
    try {
      return ServiceAccountCredentials.fromStream(new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8)))
          .createScoped(SCOPES);
    } catch (IOException | RuntimeException failed) {
      // Without the cause, whose message may repeat a part of the key.
      throw KmsFailure.badSetting("kms.gcp.credentials", "the secret is not the JSON of a service account's key");
    }
  }

  private static GoogleCredentials ofMachine() {
    try {
      return GoogleCredentials.getApplicationDefault().createScoped(SCOPES);
    } catch (IOException failed) {
      throw KmsFailure.unavailable("this machine has no application default credentials for Google Cloud", failed);
    }
  }

  private static KmsFailure refused(Exception failed) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof HttpResponseException answer) {
        return KmsFailure.unavailable("the login at Google was refused with status " + answer.getStatusCode(), failed);
      }
    }
    return KmsFailure.unavailable(
        "the login at Google failed (" + failed.getClass().getSimpleName() + ")", failed);
  }
}
