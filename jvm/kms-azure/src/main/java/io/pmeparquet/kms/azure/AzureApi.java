package io.pmeparquet.kms.azure;

import java.net.URI;
import java.util.Base64;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.pmeparquet.kms.client.CloudKms;
import io.pmeparquet.kms.client.KmsClientSettings;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsLogin;
import io.pmeparquet.kms.client.KmsRest;

/** Calls of Key Vault's REST API, version 7.4, for one vault, and what its refusals mean. */
final class AzureApi extends CloudKms {
  static final String NAME = "[0-9A-Za-z-]{1,127}";
  static final String VERSION = "[0-9a-f]{32}";
  private static final String KEYS = "keys/";
  private static final String QUERY = "?api-version=7.4";

  /** What Key Vault says besides "Forbidden", where it is not about the user. */
  private static final Map<String, String> UNUSABLE =
      Map.of("KeyDisabled", "is disabled", "KeyExpired", "has expired", "KeyNotYetValid", "is not valid yet");

  static AzureApi of(KmsClientSettings settings) {
    settings.required("kms.azure.vaultUrl", "with kms=azure");
    String vault = settings.address("kms.azure.vaultUrl").orElseThrow();
    KmsLogin login = AzureLogin.of(settings, URI.create(vault).getHost());
    return new AzureApi(vault, settings.timeoutMillis(), login);
  }

  private AzureApi(String vault, long timeoutMillis, KmsLogin login) {
    super("Azure Key Vault", vault, vault + "/", timeoutMillis, login);
  }

  /** @param path of a key, or of a version of it: NAME or NAME/VERSION */
  @Override
  public KmsRest.Answer get(String path) {
    return super.get(KEYS + path + QUERY);
  }

  @Override
  public KmsRest.Answer delete(String path) {
    return super.delete(KEYS + path + QUERY);
  }

  /** A key that was deleted, and can be recovered. */
  KmsRest.Answer getDeleted(String name) {
    return super.get("deletedkeys/" + name + QUERY);
  }

  KmsRest.Answer create(String name, Map<String, ?> body) {
    return super.post(KEYS + name + "/create" + QUERY, body);
  }

  /** @param value what is to be done with it, in base64url */
  KmsRest.Answer post(String path, String algorithm, String value) {
    return super.post(KEYS + path + QUERY, Map.of("alg", algorithm, "value", value));
  }

  static boolean isBadParameter(KmsRest.Answer answer) {
    return answer.status() == 400 && "BadParameter".equals(answer.text("error", "code"));
  }

  /** @param use what the key is needed for: "wrapping keys" */
  void requireServed(KmsRest.Answer answer, String use) {
    String code = answer.text("error", "code");
    switch (answer.status()) {
      case 200:
        return;
      case 401:
        throw refusesToken();
      case 403:
        // A proxy before the vault may forbid as well, which says nothing about a key.
        if (code == null) {
          throw strange(answer, null);
        }
        throw forbidden(answer.text("error", "innererror", "code"), use);
      case 404:
        if ("KeyNotFound".equals(code)) {
          throw lacksKey();
        }
        throw strange(answer, null);
      default:
        throw strange(answer, null);
    }
  }

  private KmsFailure forbidden(String reason, String use) {
    String why = reason == null ? "" : reason;
    if (why.equals("KeyOperationForbidden")) {
      return notFor(use);
    }
    if (UNUSABLE.containsKey(why)) {
      return KmsFailure.missing("it " + UNUSABLE.get(why) + " in " + kms, null);
    }
    if (why.equals("ForbiddenByFirewall") || why.equals("ForbiddenByConnection")) {
      return KmsFailure.unavailable("the network rules of " + kms + " block calls from here", null);
    }
    return denied();
  }

  KmsFailure notFor(String use) {
    return KmsFailure.missing("it is not meant for " + use + " in " + kms, null);
  }

  /** Returns the version that an answer is about, of the key of this name. */
  String versionIn(KmsRest.Answer answer, String key, String... path) {
    String kid = answer.text(path);
    // Names of keys are alike in every case.
    Matcher made = Pattern.compile(".*/keys/(?i:" + key + ")/(" + VERSION + ")").matcher(kid == null ? "" : kid);
    if (!made.matches()) {
      throw strange(answer, null);
    }
    return made.group(1);
  }

  byte[] bytesIn(KmsRest.Answer answer, String... path) {
    return bytesIn(answer, Base64.getUrlDecoder(), path);
  }

  static String encoded(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }
}
