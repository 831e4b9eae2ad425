package io.pmeparquet.keys

import java.security.PublicKey

/** A private key that signs; it never leaves its KMS. Thread-safe. */
trait SigningKey {

  /** Its name in messages: `key 'release' of keystore keys.p12`. Contains no secret. */
  def describe: String

  /** The JCA name: `Ed25519`, or `SHA256withECDSA` with a key on the curve P-256. */
  def algorithm: String

  /** Verifies its signatures. */
  def publicKey: PublicKey

  /**
   * @param where what the signature is for, for messages
   * @return the signature: 64 bytes of Ed25519, or DER of ECDSA
   */
  def sign(message: Array[Byte], where: String): Array[Byte]
}
