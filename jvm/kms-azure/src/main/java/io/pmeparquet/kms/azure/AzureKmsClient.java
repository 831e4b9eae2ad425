package io.pmeparquet.kms.azure;

import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.crypto.keytools.KmsClient;

import io.pmeparquet.kms.KmsFailure;

/** To be written. */
public final class AzureKmsClient implements KmsClient {
  @Override
  public void initialize(Configuration conf, String instanceId, String instanceUrl, String token) {}

  @Override
  public String wrapKey(byte[] keyBytes, String masterKeyId) {
    throw KmsFailure.unavailable("it is not written yet", null);
  }

  @Override
  public byte[] unwrapKey(String wrappedKey, String masterKeyId) {
    throw KmsFailure.unavailable("it is not written yet", null);
  }
}
