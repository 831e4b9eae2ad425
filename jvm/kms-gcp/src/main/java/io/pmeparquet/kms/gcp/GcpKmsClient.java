package io.pmeparquet.kms.gcp;

import java.util.Base64;
import java.util.Map;
import java.util.regex.Pattern;

import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.crypto.keytools.KmsClient;

import io.pmeparquet.kms.client.KeyAdministrationClient;
import io.pmeparquet.kms.client.KmsClientSettings;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsRest;
import io.pmeparquet.kms.client.SigningClient;

/**
 * Google Cloud KMS as a KMS client of parquet-java: {@code kms=gcp}, and for Spark's own {@code parquet} source
 * {@code parquet.encryption.kms.client.class}. It speaks the REST API, version 1: {@code cryptoKeys.encrypt} and
 * {@code cryptoKeys.decrypt}.
 *
 * <p>A wrapped key is the base64 of the ciphertext that Cloud KMS gives, which itself says which version of the key made
 * it. The instance id, the instance URL and the token that parquet-java hands over are not looked at: a file may name them.
 *
 * <p>It signs with versions of keys, which their ids name: keys that sign have no primary version.
 */
public final class GcpKmsClient implements KmsClient, SigningClient, KeyAdministrationClient {
  private static final Pattern KEY_RING =
      Pattern.compile("projects/[a-z0-9][a-z0-9.:-]*/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]{1,63}");
  private static final Pattern SHORT_KEY = Pattern.compile("[A-Za-z0-9_-]{1,63}");
  private static final Pattern FULL_KEY = Pattern.compile(KEY_RING + "/cryptoKeys/" + SHORT_KEY);
  private static final String VERSION = "/cryptoKeyVersions/[1-9][0-9]{0,9}";
  private static final Pattern SHORT_VERSION = Pattern.compile(SHORT_KEY + VERSION);
  private static final Pattern FULL_VERSION = Pattern.compile(FULL_KEY + VERSION);

  private String keyRing;
  private GcpApi api;
  private GcpSigner signer;

  @Override
  public void initialize(Configuration conf, String instanceId, String instanceUrl, String token) {
    KmsClientSettings settings = new KmsClientSettings(conf);
    keyRing = settings.text("kms.gcp.keyRing").orElse(null);
    if (keyRing != null && !KEY_RING.matcher(keyRing).matches()) {
      throw KmsFailure.badSetting(
          "kms.gcp.keyRing", "'" + keyRing + "' is not of the form projects/P/locations/L/keyRings/R");
    }
    api = GcpApi.of(settings);
    signer = new GcpSigner(api);
  }

  @Override
  public String wrapKey(byte[] keyBytes, String masterKeyId) {
    KmsRest.Answer answer = ask(keyOf(masterKeyId) + ":encrypt", "plaintext", keyBytes);
    requireServed(answer);
    byte[] ciphertext = api.checked(answer, "ciphertext");
    api.requireConfirmed(answer, "verifiedPlaintextCrc32c");
    return GcpApi.base64(ciphertext);
  }

  @Override
  public byte[] unwrapKey(String wrappedKey, String masterKeyId) {
    String name = keyOf(masterKeyId);
    byte[] ciphertext;
    try {
      ciphertext = Base64.getDecoder().decode(wrappedKey);
    } catch (IllegalArgumentException failed) {
      throw KmsFailure.notAuthentic("it is not base64, so this client did not wrap it", failed);
    }
    KmsRest.Answer answer = ask(name + ":decrypt", "ciphertext", ciphertext);
    if ("INVALID_ARGUMENT".equals(answer.text("error", "status"))) {
      throw KmsFailure.notAuthentic(api.kms + " says that this key did not wrap it", null);
    }
    requireServed(answer);
    return api.checked(answer, "plaintext");
  }

  @Override
  public byte[] publicKey(String keyId) {
    return signer.publicKey(versionOf(keyId));
  }

  @Override
  public byte[] sign(byte[] message, String keyId) {
    return signer.sign(message, versionOf(keyId));
  }

  @Override
  public Keys keys() {
    return new GcpKeys(api, this::keyOf);
  }

  /** In full; of letters and signs that mean nothing else in an address. */
  private String keyOf(String masterKeyId) {
    String name = inRing(masterKeyId, SHORT_KEY);
    if (!FULL_KEY.matcher(name).matches()) {
      throw KmsFailure.missing(
          "its id is not of the form projects/P/locations/L/keyRings/R/cryptoKeys/K" + orNoRing(), null);
    }
    return name;
  }

  private String versionOf(String keyId) {
    String name = inRing(keyId, SHORT_VERSION);
    if (FULL_KEY.matcher(inRing(keyId, SHORT_KEY)).matches()) {
      throw KmsFailure.missing(
          "its id names no version, and a signature needs one: add /cryptoKeyVersions/ and the number of an enabled version",
          null);
    }
    if (!FULL_VERSION.matcher(name).matches()) {
      throw KmsFailure.missing(
          "its id is not of the form projects/P/locations/L/keyRings/R/cryptoKeys/K/cryptoKeyVersions/N" + orNoRing(),
          null);
    }
    return name;
  }

  private String inRing(String id, Pattern shortForm) {
    String trimmed = id.trim();
    return keyRing != null && shortForm.matcher(trimmed).matches() ? keyRing + "/cryptoKeys/" + trimmed : trimmed;
  }

  private String orNoRing() {
    return keyRing == null ? ", and kms.gcp.keyRing is not set" : "";
  }

  private KmsRest.Answer ask(String path, String field, byte[] bytes) {
    return api.post(path, Map.of(field, GcpApi.base64(bytes), field + "Crc32c", GcpApi.crc32c(bytes)));
  }

  private void requireServed(KmsRest.Answer answer) {
    String said = answer.text("error", "message");
    if (GcpApi.isUnready(answer) && said != null && said.contains("DESTROY")) {
      throw KmsFailure.destroyed(api.kms + " says that its version is destroyed, or scheduled to be", null);
    }
    if (GcpApi.isUnready(answer)) {
      throw KmsFailure.missing("its version is disabled or destroyed in " + api.kms, null);
    }
    api.requireServed(answer);
  }
}
