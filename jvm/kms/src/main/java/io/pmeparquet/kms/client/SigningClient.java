package io.pmeparquet.kms.client;

/**
 * What a {@code KmsClient} of parquet-java implements as well if its KMS signs. Its methods throw as those of {@code
 * KmsClient} do; clients of ours throw a {@link KmsFailure}.
 *
 * <p>Keys are Ed25519 keys, which sign with {@code Ed25519}, or EC keys on the curve P-256, which sign with {@code
 * SHA256withECDSA}.
 */
public interface SigningClient {
  /**
   * Returns the id of what a key is now, for a KMS whose keys change under one id: the id of its newest version. The other
   * methods are asked with this id, so that the public key and the signature are of one version. Null if there is no such
   * key.
   */
  default String pinned(String keyId) {
    return keyId;
  }

  /** Returns the public key of a key pair as a {@code SubjectPublicKeyInfo} in DER; null if there is no such key. */
  byte[] publicKey(String keyId);

  /** Returns the signature of a message: 64 bytes of Ed25519, or DER of ECDSA. It is verified before it is used. */
  byte[] sign(byte[] message, String keyId);
}
