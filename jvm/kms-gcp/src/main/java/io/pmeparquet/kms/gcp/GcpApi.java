package io.pmeparquet.kms.gcp;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

import io.pmeparquet.kms.client.CloudKms;
import io.pmeparquet.kms.client.KmsClientSettings;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsLogin;
import io.pmeparquet.kms.client.KmsRest;

/** Calls of Cloud KMS's REST API, version 1, the checksums in them, and what its refusals mean. */
final class GcpApi extends CloudKms {
  private static final String GOOGLE = "https://cloudkms.googleapis.com";
  private static final Pattern REASON = Pattern.compile("[A-Z_]{1,64}");

  static GcpApi of(KmsClientSettings settings) {
    String endpoint = settings.address("kms.gcp.endpoint").orElse(GOOGLE);
    return new GcpApi(endpoint, settings.timeoutMillis(), GoogleLogin.of(settings));
  }

  private GcpApi(String endpoint, long timeoutMillis, KmsLogin login) {
    super("Google Cloud KMS", endpoint, endpoint + "/v1/", timeoutMillis, login);
  }

  /** Whether the state or the purpose of a key is not that which the call needs. */
  static boolean isUnready(KmsRest.Answer answer) {
    return "FAILED_PRECONDITION".equals(answer.text("error", "status"));
  }

  void requireServed(KmsRest.Answer answer) {
    String refusal = answer.text("error", "status");
    switch (refusal == null ? "" : refusal) {
      case "PERMISSION_DENIED":
        throw denied(answer.texts("reason", "error", "details"));
      case "NOT_FOUND":
        throw lacksKey();
      case "UNAUTHENTICATED":
        throw refusesToken();
      default:
        if (answer.status() != 200) {
          throw strange(answer, null);
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
      return denied();
    }
    String reason = reasons.stream().filter(text -> REASON.matcher(text).matches()).findFirst().orElse("not given");
    return KmsFailure.unavailable(
        kms + " refused the call, for a reason other than a permission on a key (reason: " + reason + ")", null);
  }

  /** The bytes of this field; they may have been damaged on their way. */
  byte[] checked(KmsRest.Answer answer, String field) {
    byte[] bytes = bytesIn(answer, Base64.getDecoder(), field);
    requireWhole(answer, field, bytes);
    return bytes;
  }

  /** The same of a field that is text as it is. */
  String checkedText(KmsRest.Answer answer, String field) {
    String text = answer.text(field);
    requireWhole(answer, field, text == null ? new byte[0] : text.getBytes(StandardCharsets.UTF_8));
    return text;
  }

  private void requireWhole(KmsRest.Answer answer, String field, byte[] bytes) {
    if (bytes.length == 0) {
      throw strange(answer, null);
    }
    if (!crc32c(bytes).equals(answer.value(field + "Crc32c"))) {
      throw KmsFailure.unavailable("the checksum in the answer of " + kms + " does not match the answer", null);
    }
  }

  /** @param field with it, the service confirms that it got what was sent */
  void requireConfirmed(KmsRest.Answer answer, String field) {
    if (!"true".equals(answer.value(field))) {
      throw KmsFailure.unavailable(kms + " does not confirm the checksum of what it was sent", null);
    }
  }

  static String base64(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }

  static String crc32c(byte[] bytes) {
    CRC32C sum = new CRC32C();
    sum.update(bytes);
    return Long.toString(sum.getValue());
  }
}
