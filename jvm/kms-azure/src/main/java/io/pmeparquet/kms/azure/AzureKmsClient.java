package io.pmeparquet.kms.azure;

import java.net.URI;
import java.util.Base64;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.crypto.keytools.KmsClient;

import io.pmeparquet.kms.client.KmsClientSettings;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsLogin;
import io.pmeparquet.kms.client.KmsRest;

/**
 * Azure Key Vault, or a managed HSM, as a KMS client of parquet-java: {@code kms=azure}, and for Spark's own {@code
 * parquet} source {@code parquet.encryption.kms.client.class}. It speaks the REST API, version 7.4: {@code wrapkey} and
 * {@code unwrapkey}.
 *
 * <p>A wrapped key is {@code azure:VERSION:VALUE}: Key Vault must be told which version of a key to unwrap with. Nothing
 * else of where a call goes is taken from it, and the instance id, the instance URL and the token that parquet-java hands
 * over are not looked at: a file may name them.
 */
public final class AzureKmsClient implements KmsClient {
  private static final String QUERY = "?api-version=7.4";
  private static final String NAME = "[0-9A-Za-z-]{1,127}";
  private static final String VERSION = "[0-9a-f]{32}";
  private static final Pattern KEY = Pattern.compile("(" + NAME + ")(?:/(" + VERSION + "))?");
  private static final Pattern WRAPPED = Pattern.compile("azure:(" + VERSION + "):([0-9A-Za-z_-]{1,8192})");

  /** What Key Vault says besides "Forbidden", where it is not about the user. */
  private static final Map<String, String> UNUSABLE =
      Map.of(
          "KeyDisabled", "is disabled",
          "KeyExpired", "has expired",
          "KeyNotYetValid", "is not valid yet",
          "KeyOperationForbidden", "is not meant for wrapping keys");

  private String kms;
  private String vault;
  private String algorithm;
  private KmsRest http;
  private KmsLogin login;

  @Override
  public void initialize(Configuration conf, String instanceId, String instanceUrl, String token) {
    KmsClientSettings settings = new KmsClientSettings(conf);
    settings.required("kms.azure.vaultUrl", "with kms=azure");
    vault = settings.address("kms.azure.vaultUrl").orElseThrow();
    kms = "Azure Key Vault at " + vault;
    algorithm = settings.choice("kms.azure.algorithm");
    http = new KmsRest(kms, settings.timeoutMillis());
    login = AzureLogin.of(settings, URI.create(vault).getHost());
  }

  @Override
  public String wrapKey(byte[] keyBytes, String masterKeyId) {
    Matcher key = parsed(masterKeyId);
    String path = key.group(2) == null ? key.group(1) : key.group();
    String value = Base64.getUrlEncoder().withoutPadding().encodeToString(keyBytes);
    KmsRest.Answer answer = ask(path + "/wrapkey", value);
    if (isBadParameter(answer)) {
      throw KmsFailure.badSetting(
          "kms.azure.algorithm", kms + " does not wrap with " + algorithm + " and the key '" + key.group(1) + "'");
    }
    requireServed(answer);
    String kid = answer.text("kid");
    Matcher made = Pattern.compile(".*/keys/" + key.group(1) + "/(" + VERSION + ")", Pattern.CASE_INSENSITIVE)
        .matcher(kid == null ? "" : kid);
    String wrapped = made.matches() ? "azure:" + made.group(1) + ":" + answer.text("value") : "";
    if (!WRAPPED.matcher(wrapped).matches()) {
      throw KmsFailure.unavailable(strange(answer), null);
    }
    return wrapped;
  }

  @Override
  public byte[] unwrapKey(String wrappedKey, String masterKeyId) {
    Matcher key = parsed(masterKeyId);
    Matcher wrapped = WRAPPED.matcher(wrappedKey);
    if (!wrapped.matches()) {
      throw KmsFailure.notAuthentic("it does not have the form that this client writes", null);
    }
    KmsRest.Answer answer = ask(key.group(1) + "/" + wrapped.group(1) + "/unwrapkey", wrapped.group(2));
    if (isBadParameter(answer)) {
      throw KmsFailure.notAuthentic(kms + " says that this key did not wrap it with " + algorithm, null);
    }
    requireServed(answer);
    try {
      String value = answer.text("value");
      return Base64.getUrlDecoder().decode(value == null ? "?" : value);
    } catch (IllegalArgumentException failed) {
      throw KmsFailure.unavailable(strange(answer), failed);
    }
  }

  /** A key's name, and a version of it: of letters and signs that mean nothing else in an address. */
  private static Matcher parsed(String masterKeyId) {
    Matcher key = KEY.matcher(masterKeyId.trim());
    if (!key.matches()) {
      throw KmsFailure.missing("its id is not of the form NAME or NAME/VERSION", null);
    }
    return key;
  }

  private KmsRest.Answer ask(String path, String value) {
    return login.postJson(http, vault + "/keys/" + path + QUERY, Map.of("alg", algorithm, "value", value));
  }

  private static boolean isBadParameter(KmsRest.Answer answer) {
    return answer.status() == 400 && "BadParameter".equals(answer.text("error", "code"));
  }

  private void requireServed(KmsRest.Answer answer) {
    String code = answer.text("error", "code");
    switch (answer.status()) {
      case 200:
        return;
      case 401:
        throw KmsFailure.unavailable(kms + " refuses the token of the login, even a new one", null);
      case 403:
        // What stands before the vault may forbid as well, and that is no word about a key.
        if (code == null) {
          throw KmsFailure.unavailable(strange(answer), null);
        }
        throw forbidden(answer.text("error", "innererror", "code"));
      case 404:
        if ("KeyNotFound".equals(code)) {
          throw KmsFailure.missing(kms + " does not have it", null);
        }
        throw KmsFailure.unavailable(strange(answer), null);
      default:
        throw KmsFailure.unavailable(strange(answer), null);
    }
  }

  private KmsFailure forbidden(String reason) {
    String why = reason == null ? "" : reason;
    if (UNUSABLE.containsKey(why)) {
      return KmsFailure.missing("it " + UNUSABLE.get(why) + " in " + kms, null);
    }
    if (why.equals("ForbiddenByFirewall") || why.equals("ForbiddenByConnection")) {
      return KmsFailure.unavailable("the network rules of " + kms + " block calls from here", null);
    }
    return KmsFailure.denied(kms + " does not let this user use the key", null);
  }

  private String strange(KmsRest.Answer answer) {
    return kms + " gave an answer with status " + answer.status() + " that is not from Key Vault";
  }
}
