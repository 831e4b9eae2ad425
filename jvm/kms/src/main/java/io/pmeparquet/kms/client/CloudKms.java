package io.pmeparquet.kms.client;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Map;
import java.util.function.BiFunction;

/**
 * A cloud's KMS with a REST API: calls that hold the token of a login, and what the answers of all such services have in
 * common. The login and all attempts of a call are over in {@code kms.timeoutSeconds}.
 */
public abstract class CloudKms {
  private static final int UNAUTHORIZED = 401;

  /** The service and its address, in messages. */
  public final String kms;

  private final String service;
  private final String base;
  private final long timeoutMillis;
  private final KmsRest http;
  private final KmsLogin login;

  /**
   * @param service the service, in messages
   * @param address the server's
   * @param base what the path of each call is appended to
   */
  protected CloudKms(String service, String address, String base, long timeoutMillis, KmsLogin login) {
    this.kms = service + " at " + address;
    this.service = service;
    this.base = base;
    this.timeoutMillis = timeoutMillis;
    this.http = new KmsRest(kms, timeoutMillis);
    this.login = login;
  }

  public KmsRest.Answer get(String path) {
    return call((headers, deadline) -> http.get(base + path, headers, deadline));
  }

  /** @param body texts, and maps of texts */
  public KmsRest.Answer post(String path, Map<String, ?> body) {
    return call((headers, deadline) -> http.postJson(base + path, headers, body, deadline));
  }

  public KmsRest.Answer delete(String path) {
    return call((headers, deadline) -> http.delete(base + path, headers, deadline));
  }

  /** With a new token for one that is refused, once: it may have been revoked, or this machine's clock be slow. */
  private KmsRest.Answer call(BiFunction<Map<String, String>, Deadline, KmsRest.Answer> attempt) {
    Deadline deadline = Deadline.in(timeoutMillis);
    KmsLogin.Pass pass = login.pass(deadline);
    KmsRest.Answer answer = attempt.apply(pass.headers, deadline);
    if (answer.status() != UNAUTHORIZED) {
      return answer;
    }
    login.forget(pass);
    return attempt.apply(login.pass(deadline).headers, deadline);
  }

  public KmsFailure refusesToken() {
    return KmsFailure.unavailable(kms + " refuses the token of the login, even a new one", null);
  }

  public KmsFailure denied() {
    return KmsFailure.denied(kms + " does not let this user use the key", null);
  }

  public KmsFailure lacksKey() {
    return KmsFailure.missing(kms + " does not have it", null);
  }

  /** An answer that the service's API does not define: from another server, or a proxy. */
  public KmsFailure strange(KmsRest.Answer answer, Throwable cause) {
    return KmsFailure.unavailable(
        kms + " gave an answer with status " + answer.status() + " that is not from " + service, cause);
  }

  /** The bytes of a field, which must not be empty. */
  public byte[] bytesIn(KmsRest.Answer answer, Base64.Decoder decoder, String... path) {
    String text = answer.text(path);
    byte[] bytes;
    try {
      bytes = decoder.decode(text == null ? "" : text);
    } catch (IllegalArgumentException failed) {
      throw strange(answer, failed);
    }
    if (bytes.length == 0) {
      throw strange(answer, null);
    }
    return bytes;
  }

  public static byte[] sha256(byte[] message) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(message);
    } catch (NoSuchAlgorithmException failed) {
      throw new IllegalStateException("internal error: no SHA-256", failed);
    }
  }
}
