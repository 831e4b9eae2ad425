package org.apache.iceberg.encryption;

import java.io.Closeable;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Map;

/** Iceberg's interface by the same name, with the methods that `javap` shows of iceberg-core 1.10.0, but for making keys. */
public interface KeyManagementClient extends Serializable, Closeable {
  ByteBuffer wrapKey(ByteBuffer key, String wrappingKeyId);

  ByteBuffer unwrapKey(ByteBuffer wrappedKey, String wrappingKeyId);

  void initialize(Map<String, String> properties);

  @Override
  default void close() {}
}
