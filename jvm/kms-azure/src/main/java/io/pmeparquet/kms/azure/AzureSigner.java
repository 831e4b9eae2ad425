package io.pmeparquet.kms.azure;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPublicKeySpec;
import java.util.Arrays;
import java.util.List;

import io.pmeparquet.kms.client.CloudKms;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsRest;

/** Keys that sign by ES256 (RFC 7518): the operations "get" and {@code sign}. Key Vault has no Ed25519. */
final class AzureSigner {
  private static final String USE = "signing";
  private static final List<String> KINDS = List.of("EC", "EC-HSM");

  /** The bytes of a coordinate, and of each half of a signature. */
  private static final int HALF = 32;

  private static final int SEQUENCE = 0x30;
  private static final int INTEGER = 0x02;

  private final AzureApi api;

  AzureSigner(AzureApi api) {
    this.api = api;
  }

  /** Returns the newest version of the key of this name. */
  String newestVersion(String name) {
    KmsRest.Answer answer = api.get(name);
    api.requireServed(answer, USE);
    return api.versionIn(answer, name, "key", "kid");
  }

  /**
   * @param path NAME/VERSION
   * @return a {@code SubjectPublicKeyInfo} in DER
   */
  byte[] publicKey(String path) {
    KmsRest.Answer answer = api.get(path);
    api.requireServed(answer, USE);
    String kind = answer.text("key", "kty");
    if (kind == null) {
      throw api.strange(answer, null);
    }
    if (!KINDS.contains(kind) || !"P-256".equals(answer.text("key", "crv"))) {
      throw KmsFailure.missing("in " + api.kms + " it is not an EC key on the curve P-256", null);
    }
    // Key Vault describes such keys, and refuses to sign with them.
    if ("false".equals(answer.value("attributes", "enabled"))) {
      throw KmsFailure.missing("it is disabled in " + api.kms, null);
    }
    if (!answer.values("key", "key_ops").contains("sign")) {
      throw api.notFor(USE);
    }
    return encoded(coordinate(answer, "x"), coordinate(answer, "y"));
  }

  /** Returns the signature of the message's SHA-256, in DER. */
  byte[] sign(byte[] message, String path) {
    KmsRest.Answer answer = api.post(path + "/sign", "ES256", AzureApi.encoded(CloudKms.sha256(message)));
    if (AzureApi.isBadParameter(answer)) {
      throw KmsFailure.missing(api.kms + " does not sign with it by ES256", null);
    }
    api.requireServed(answer, USE);
    byte[] halves = api.bytesIn(answer, "value");
    if (halves.length != 2 * HALF) {
      throw api.strange(answer, null);
    }
    return der(halves);
  }

  private BigInteger coordinate(KmsRest.Answer answer, String field) {
    byte[] bytes = api.bytesIn(answer, "key", field);
    if (bytes.length > HALF) {
      throw api.strange(answer, null);
    }
    return new BigInteger(1, bytes);
  }

  private static byte[] encoded(BigInteger x, BigInteger y) {
    try {
      AlgorithmParameters curve = AlgorithmParameters.getInstance("EC");
      curve.init(new ECGenParameterSpec("secp256r1"));
      ECPublicKeySpec key = new ECPublicKeySpec(new ECPoint(x, y), curve.getParameterSpec(ECParameterSpec.class));
      return KeyFactory.getInstance("EC").generatePublic(key).getEncoded();
    } catch (GeneralSecurityException failed) {
      throw KmsFailure.missing("its coordinates are not those of an EC key on the curve P-256", failed);
    }
  }

  /** The two numbers as a SEQUENCE of INTEGERs (RFC 3279, Ecdsa-Sig-Value), which is never longer than 127 bytes. */
  private static byte[] der(byte[] halves) {
    ByteArrayOutputStream numbers = new ByteArrayOutputStream();
    for (int at = 0; at < halves.length; at += HALF) {
      byte[] number = new BigInteger(1, Arrays.copyOfRange(halves, at, at + HALF)).toByteArray();
      numbers.write(INTEGER);
      numbers.write(number.length);
      numbers.writeBytes(number);
    }
    ByteArrayOutputStream signature = new ByteArrayOutputStream();
    signature.write(SEQUENCE);
    signature.write(numbers.size());
    signature.writeBytes(numbers.toByteArray());
    return signature.toByteArray();
  }
}
