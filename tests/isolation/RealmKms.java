package isolation;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.crypto.keytools.KeyToolkit;
import org.apache.parquet.crypto.keytools.KmsClient;

/** A KMS client whose master keys depend on a setting of its own in the Hadoop configuration; without it, it has none. */
public final class RealmKms implements KmsClient {
  private String realm;

  @Override
  public void initialize(Configuration conf, String instanceId, String instanceUrl, String token) {
    realm = conf.get("realm.name");
  }

  @Override
  public String wrapKey(byte[] key, String masterKeyId) {
    return KeyToolkit.encryptKeyLocally(key, master(masterKeyId), aad(masterKeyId));
  }

  @Override
  public byte[] unwrapKey(String wrapped, String masterKeyId) {
    return KeyToolkit.decryptKeyLocally(wrapped, master(masterKeyId), aad(masterKeyId));
  }

  private byte[] master(String id) {
    if (realm == null) throw new IllegalArgumentException("no realm, no key");
    try {
      return Arrays.copyOf(MessageDigest.getInstance("SHA-256").digest(aad(realm + ":" + id)), 16);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static byte[] aad(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
