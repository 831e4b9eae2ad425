package kms;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Map;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.apache.iceberg.encryption.KeyManagementClient;

/** A client of Iceberg's kind whose master keys depend on a property; it says no, or fails, where a key's name asks for it. */
public class IcebergRealm implements KeyManagementClient {
  private static final long serialVersionUID = 1L;
  private static final int NONCE_BYTES = 12;
  private String realm;

  @Override
  public void initialize(Map<String, String> properties) {
    realm = properties.get("realm");
    if (realm == null) throw new IllegalArgumentException("no realm");
  }

  @Override
  public ByteBuffer wrapKey(ByteBuffer key, String wrappingKeyId) {
    if (wrappingKeyId.equals("none")) throw new IllegalArgumentException("no such key");
    if (wrappingKeyId.equals("down"))
      throw new java.io.UncheckedIOException(new java.net.ConnectException("refused"));
    // Not from its beginning, as a client may hand out.
    byte[] sealed = seal(Cipher.ENCRYPT_MODE, new byte[NONCE_BYTES], bytes(key), wrappingKeyId);
    ByteBuffer wrapped = ByteBuffer.allocate(sealed.length + 1).put((byte) 7).put(sealed);
    wrapped.flip().position(1);
    return wrapped;
  }

  @Override
  public ByteBuffer unwrapKey(ByteBuffer wrapped, String wrappingKeyId) {
    return ByteBuffer.wrap(seal(Cipher.DECRYPT_MODE, new byte[NONCE_BYTES], bytes(wrapped), wrappingKeyId));
  }

  private byte[] seal(int mode, byte[] nonce, byte[] input, String id) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest((realm + ":" + id).getBytes(StandardCharsets.UTF_8));
      Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
      cipher.init(mode, new SecretKeySpec(Arrays.copyOf(digest, 16), "AES"), new GCMParameterSpec(128, nonce));
      return cipher.doFinal(input);
    } catch (GeneralSecurityException failed) {
      throw new IllegalStateException(failed);
    }
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] all = new byte[buffer.remaining()];
    buffer.get(all);
    return all;
  }
}
