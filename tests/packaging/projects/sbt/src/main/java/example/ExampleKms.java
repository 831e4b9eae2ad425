package example;

import java.util.Base64;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.crypto.keytools.KmsClient;

/** A user's KMS client. It protects nothing: what it makes of a key tells the key. */
public final class ExampleKms implements KmsClient {
  @Override
  public void initialize(Configuration conf, String instanceId, String instanceUrl, String accessToken) {}

  @Override
  public String wrapKey(byte[] key, String masterKey) {
    return masterKey + ":" + Base64.getEncoder().encodeToString(key);
  }

  @Override
  public byte[] unwrapKey(String wrapped, String masterKey) {
    return Base64.getDecoder().decode(wrapped.substring(masterKey.length() + 1));
  }
}
