package io.pmeparquet.kms.gcp;

import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.crypto.keytools.KmsClient;

import io.pmeparquet.kms.client.KmsClientSettings;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsLogin;
import io.pmeparquet.kms.client.KmsRest;

/**
 * Google Cloud KMS as a KMS client of parquet-java: {@code kms=gcp}, and for Spark's own {@code parquet} source
 * {@code parquet.encryption.kms.client.class}. It speaks the REST API, version 1: {@code cryptoKeys.encrypt} and
 * {@code cryptoKeys.decrypt}.
 *
 * <p>A wrapped key is the base64 of the ciphertext that Cloud KMS gives, which itself says which version of the key made
 * it. The instance id, the instance URL and the token that parquet-java hands over are not looked at: a file may name them.
 */
public final class GcpKmsClient implements KmsClient {
  private static final String GOOGLE = "https://cloudkms.googleapis.com";
  private static final Pattern KEY_RING =
      Pattern.compile("projects/[a-z0-9][a-z0-9.:-]*/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]{1,63}");
  private static final Pattern SHORT_KEY = Pattern.compile("[A-Za-z0-9_-]{1,63}");
  private static final Pattern REASON = Pattern.compile("[A-Z_]{1,64}");
  private static final Pattern FULL_KEY = Pattern.compile(KEY_RING + "/cryptoKeys/" + SHORT_KEY);

  private String kms;
  private String endpoint;
  private String keyRing;
  private KmsRest http;
  private KmsLogin login;

  @Override
  public void initialize(Configuration conf, String instanceId, String instanceUrl, String token) {
    KmsClientSettings settings = new KmsClientSettings(conf);
    endpoint = settings.address("kms.gcp.endpoint").orElse(GOOGLE);
    kms = "Google Cloud KMS at " + endpoint;
    keyRing = settings.text("kms.gcp.keyRing").orElse(null);
    if (keyRing != null && !KEY_RING.matcher(keyRing).matches()) {
      throw KmsFailure.badSetting(
          "kms.gcp.keyRing", "'" + keyRing + "' is not of the form projects/P/locations/L/keyRings/R");
    }
    http = new KmsRest(kms, settings.timeoutMillis());
    login = GoogleLogin.of(settings);
  }

  @Override
  public String wrapKey(byte[] keyBytes, String masterKeyId) {
    KmsRest.Answer answer = ask(nameOf(masterKeyId) + ":encrypt", "plaintext", keyBytes);
    requireServed(answer);
    byte[] ciphertext = checked(answer, "ciphertext");
    if (!"true".equals(answer.value("verifiedPlaintextCrc32c"))) {
      throw KmsFailure.unavailable(kms + " does not confirm the checksum of what it wrapped", null);
    }
    return base64(ciphertext);
  }

  @Override
  public byte[] unwrapKey(String wrappedKey, String masterKeyId) {
    String name = nameOf(masterKeyId);
    byte[] ciphertext;
    try {
      ciphertext = Base64.getDecoder().decode(wrappedKey);
    } catch (IllegalArgumentException failed) {
      throw KmsFailure.notAuthentic("it is not base64, so this client did not wrap it", failed);
    }
    KmsRest.Answer answer = ask(name + ":decrypt", "ciphertext", ciphertext);
    if ("INVALID_ARGUMENT".equals(answer.text("error", "status"))) {
      throw KmsFailure.notAuthentic(kms + " says that this key did not wrap it", null);
    }
    requireServed(answer);
    return checked(answer, "plaintext");
  }

  /** In full; of letters and signs that mean nothing else in an address. */
  private String nameOf(String masterKeyId) {
    String id = masterKeyId.trim();
    String name = keyRing != null && SHORT_KEY.matcher(id).matches() ? keyRing + "/cryptoKeys/" + id : id;
    if (!FULL_KEY.matcher(name).matches()) {
      String or = keyRing == null ? ", and kms.gcp.keyRing is not set" : "";
      throw KmsFailure.missing(
          "its id is not of the form projects/P/locations/L/keyRings/R/cryptoKeys/K" + or, null);
    }
    return name;
  }

  private KmsRest.Answer ask(String path, String field, byte[] bytes) {
    Map<String, String> body = Map.of(field, base64(bytes), field + "Crc32c", crc32c(bytes));
    return login.postJson(http, endpoint + "/v1/" + path, body);
  }

  private void requireServed(KmsRest.Answer answer) {
    String refusal = answer.text("error", "status");
    switch (refusal == null ? "" : refusal) {
      case "PERMISSION_DENIED":
        throw denied(answer.texts("reason", "error", "details"));
      case "NOT_FOUND":
        throw KmsFailure.missing(kms + " does not have it", null);
      case "FAILED_PRECONDITION":
        throw KmsFailure.missing("its version is disabled or destroyed in " + kms, null);
      case "UNAUTHENTICATED":
        throw KmsFailure.unavailable(kms + " refuses the token of the login, even a new one", null);
      default:
        if (answer.status() != 200) {
          throw KmsFailure.unavailable(strange(answer), null);
        }
    }
  }

  /**
   * The same status is given where no permission is missing: the service or its billing is off, a perimeter is in the way,
   * the token is for other services. That is no word about a key, under which a column may be masked. The reason stands
   * in an ErrorInfo (google.rpc, AIP-193), which Cloud KMS may leave out.
   */
  private KmsFailure denied(List<String> reasons) {
    if (reasons.isEmpty() || reasons.contains("IAM_PERMISSION_DENIED")) {
      return KmsFailure.denied(kms + " does not let this user use the key", null);
    }
    String reason = reasons.stream().filter(text -> REASON.matcher(text).matches()).findFirst().orElse("not given");
    return KmsFailure.unavailable(
        kms + " refused the call, for a reason other than a permission on a key (reason: " + reason + ")", null);
  }

  /** The bytes of this field; they may have been damaged on their way. */
  private byte[] checked(KmsRest.Answer answer, String field) {
    String text = answer.text(field);
    byte[] bytes;
    try {
      bytes = Base64.getDecoder().decode(text == null ? "" : text);
    } catch (IllegalArgumentException failed) {
      throw KmsFailure.unavailable(strange(answer), failed);
    }
    if (bytes.length == 0) {
      throw KmsFailure.unavailable(strange(answer), null);
    }
    if (!crc32c(bytes).equals(answer.value(field + "Crc32c"))) {
      throw KmsFailure.unavailable("the checksum in the answer of " + kms + " does not match the answer", null);
    }
    return bytes;
  }

  private String strange(KmsRest.Answer answer) {
    return kms + " gave an answer with status " + answer.status() + " that is not from Cloud KMS";
  }

  private static String base64(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }

  private static String crc32c(byte[] bytes) {
    CRC32C sum = new CRC32C();
    sum.update(bytes);
    return Long.toString(sum.getValue());
  }
}
