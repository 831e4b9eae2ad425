package io.pmeparquet.kms.client

import java.security.PublicKey

import io.pmeparquet.keys.{PublicKeys, SigningKey}
import io.pmeparquet.PmeErrors

/**
 * A key that a [[SigningClient]] signs with.
 *
 * @param signed calls the client
 */
private[client] final class ClientSigningKey(
    id: String,
    client: String,
    override val publicKey: PublicKey,
    signed: (Array[Byte], String) => Array[Byte]
) extends SigningKey {
  override val algorithm: String = PublicKeys.algorithmOf(publicKey).get

  override def describe: String = s"key '$id' of $client"

  override def sign(message: Array[Byte], where: String): Array[Byte] = {
    val signature = signed(message, where)
    if (signature == null || !PublicKeys.verifies(publicKey, message, signature))
      throw PmeErrors.kmsUnavailable(where, s"a signature by $describe does not match its public key")
    signature
  }
}
