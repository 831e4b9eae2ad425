package io.pmeparquet.kms.gcp;

import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.pmeparquet.kms.client.CloudKms;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsRest;

/** Versions of keys that sign: {@code cryptoKeyVersions.getPublicKey} and {@code cryptoKeyVersions.asymmetricSign}. */
final class GcpSigner {
  private static final String P256 = "EC_SIGN_P256_SHA256";
  private static final String ED25519 = "EC_SIGN_ED25519";
  private static final Pattern ALGORITHM = Pattern.compile("[A-Z0-9_]{1,64}");
  private static final Pattern PEM =
      Pattern.compile("\\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\\s]+)-----END PUBLIC KEY-----\\s*");

  private final GcpApi api;

  /** By the names of versions: a version never changes its algorithm. */
  private final Map<String, String> algorithms = new ConcurrentHashMap<>();

  GcpSigner(GcpApi api) {
    this.api = api;
  }

  /**
   * @param name a version's name in full
   * @return a {@code SubjectPublicKeyInfo} in DER
   */
  byte[] publicKey(String name) {
    KmsRest.Answer answer = api.get(name + "/publicKey");
    requireServed(answer);
    String algorithm = answer.text("algorithm");
    if (algorithm == null || !ALGORITHM.matcher(algorithm).matches()) {
      throw api.strange(answer, null);
    }
    if (!algorithm.equals(P256) && !algorithm.equals(ED25519)) {
      throw KmsFailure.missing(
          "its algorithm in "
              + api.kms
              + " is "
              + algorithm
              + ", and signing needs EC_SIGN_P256_SHA256 or EC_SIGN_ED25519",
          null);
    }
    byte[] encoded = encodedIn(answer);
    algorithms.put(name, algorithm);
    return encoded;
  }

  /** Returns the signature: of the message itself with Ed25519, of its SHA-256 and in DER with ECDSA. */
  byte[] sign(byte[] message, String name) {
    if (!algorithms.containsKey(name)) {
      publicKey(name);
    }
    boolean isEd25519 = algorithms.get(name).equals(ED25519);
    byte[] signed = isEd25519 ? message : CloudKms.sha256(message);
    Map<String, Object> body =
        isEd25519
            ? Map.of("data", GcpApi.base64(signed), "dataCrc32c", GcpApi.crc32c(signed))
            : Map.of("digest", Map.of("sha256", GcpApi.base64(signed)), "digestCrc32c", GcpApi.crc32c(signed));
    KmsRest.Answer answer = api.post(name + ":asymmetricSign", body);
    requireServed(answer);
    byte[] signature = api.checked(answer, "signature");
    api.requireConfirmed(answer, isEd25519 ? "verifiedDataCrc32c" : "verifiedDigestCrc32c");
    return signature;
  }

  /** Cloud KMS refuses versions in another state and keys of another purpose alike. */
  private void requireServed(KmsRest.Answer answer) {
    if (GcpApi.isUnready(answer)) {
      throw KmsFailure.missing(
          "in " + api.kms + " its version is not enabled, or the purpose of the key is not ASYMMETRIC_SIGN", null);
    }
    api.requireServed(answer);
  }

  private byte[] encodedIn(KmsRest.Answer answer) {
    Matcher pem = PEM.matcher(api.checkedText(answer, "pem"));
    if (!pem.matches()) {
      throw api.strange(answer, null);
    }
    try {
      return Base64.getDecoder().decode(pem.group(1).replaceAll("\\s", ""));
    } catch (IllegalArgumentException failed) {
      throw api.strange(answer, failed);
    }
  }
}
