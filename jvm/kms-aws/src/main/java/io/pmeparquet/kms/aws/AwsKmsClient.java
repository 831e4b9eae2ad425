package io.pmeparquet.kms.aws;

import java.util.Base64;

import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.crypto.keytools.KmsClient;

import io.pmeparquet.kms.client.KeyAdministrationClient;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.SigningClient;

/**
 * AWS KMS as a KMS client of parquet-java: {@code kms=aws}, and for Spark's own {@code parquet} source
 * {@code parquet.encryption.kms.client.class}. {@link AwsSettings} lists what it finds in the configuration.
 *
 * <p>It signs with keys of the kind ECC_NIST_P256.
 *
 * <p>A wrapped key is the base64 of the ciphertext that AWS KMS gives, and nothing else. Credentials are what the AWS SDK
 * finds in the process: the instance id, the instance URL and the token that parquet-java hands over are not looked at.
 */
public final class AwsKmsClient implements KmsClient, SigningClient, KeyAdministrationClient {
  /** More than AWS KMS makes of a data key, whatever the kind of master key. */
  private static final int MAX_WRAPPED = 8192;

  private AwsCalls calls;

  @Override
  public void initialize(Configuration conf, String instanceId, String instanceUrl, String token) {
    calls = new AwsCalls(AwsSettings.of(conf));
  }

  @Override
  public String wrapKey(byte[] keyBytes, String masterKeyId) {
    return Base64.getEncoder().encodeToString(calls.encrypt(keyBytes, masterKeyId.trim()));
  }

  @Override
  public byte[] unwrapKey(String wrappedKey, String masterKeyId) {
    if (wrappedKey.length() > MAX_WRAPPED) {
      throw KmsFailure.notAuthentic(
          "it is " + wrappedKey.length() + " characters long, which is not a valid length of a wrapped key", null);
    }
    return calls.decrypt(decoded(wrappedKey), masterKeyId.trim());
  }

  @Override
  public byte[] publicKey(String keyId) {
    return calls.publicKey(keyId.trim());
  }

  @Override
  public byte[] sign(byte[] message, String keyId) {
    return calls.sign(message, keyId.trim());
  }

  @Override
  public Keys keys() {
    return new AwsKeys(calls);
  }

  private static byte[] decoded(String wrappedKey) {
    try {
      return Base64.getDecoder().decode(wrappedKey);
    } catch (IllegalArgumentException failed) {
      throw KmsFailure.notAuthentic("it is not base64, so this client did not wrap it", failed);
    }
  }
}
