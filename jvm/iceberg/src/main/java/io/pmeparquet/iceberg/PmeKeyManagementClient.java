package io.pmeparquet.iceberg;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;

import org.apache.iceberg.encryption.KeyManagementClient;

import io.pmeparquet.PmeException;
import io.pmeparquet.kms.PropertiesKms;

/**
 * Every KMS of {@code format("pme-parquet")} for table encryption of Iceberg, by properties of a catalog:
 *
 * <pre>
 * encryption.kms-impl               io.pmeparquet.iceberg.PmeKeyManagementClient
 * pme-parquet.kms                   keystore
 * pme-parquet.kms.keystore.path     /keys/keys.p12
 * pme-parquet.kms.keystore.password env:KEYSTORE_PASSWORD
 * </pre>
 *
 * <p>Iceberg serializes its client and sends it to executors. What it takes along are the properties with our prefix, in
 * which secrets are references only, and the path of Hadoop's credential providers: no secret, no key, no other property
 * of the catalog, and no connection. A process that needs a key looks references up itself.
 */
public final class PmeKeyManagementClient implements KeyManagementClient {
  private static final long serialVersionUID = 1L;
  private static final String WHERE = "encryption of an Iceberg table";

  // Not final, and without initial values: Kryo makes an object without its constructor.
  private HashMap<String, String> options;
  private transient Map<String, String> ofCatalog;
  private transient PropertiesKms kms;

  /**
   * Checks names and references. Nothing is read and no KMS is called before a key is needed, so that a catalog's plaintext
   * tables need none.
   *
   * @throws KeyAccessException for a name that is not ours, an option that does not concern a KMS, a secret as a value
   */
  @Override
  public synchronized void initialize(Map<String, String> properties) {
    try {
      options = new HashMap<>(PropertiesKms.checked(properties));
    } catch (PmeException failed) {
      throw new KeyAccessException(failed);
    }
    ofCatalog = new HashMap<>(properties);
    kms = null;
  }

  /** @throws KeyAccessException if there is no such master key, the KMS refuses it, or cannot be used */
  @Override
  public ByteBuffer wrapKey(ByteBuffer key, String wrappingKeyId) {
    try {
      return ByteBuffer.wrap(kms().wrap(bytes(key), wrappingKeyId));
    } catch (PmeException failed) {
      throw new KeyAccessException(failed);
    }
  }

  /** @throws KeyAccessException as above, or if the wrapped key is not authentic */
  @Override
  public ByteBuffer unwrapKey(ByteBuffer wrappedKey, String wrappingKeyId) {
    try {
      return ByteBuffer.wrap(kms().unwrap(bytes(wrappedKey), wrappingKeyId));
    } catch (PmeException failed) {
      throw new KeyAccessException(failed);
    }
  }

  /** Forgets keys and connections. Tables outlive their catalog, so a later call opens the KMS again. */
  @Override
  public synchronized void close() {
    kms = null;
  }

  private synchronized PropertiesKms kms() throws PmeException {
    if (options == null) {
      throw new IllegalStateException("encryption.kms-impl: initialize was not called");
    }
    if (kms == null) {
      kms = PropertiesKms.open(ofCatalog == null ? options : ofCatalog, WHERE);
    }
    return kms;
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] copied = new byte[buffer.remaining()];
    buffer.duplicate().get(copied);
    return copied;
  }
}
