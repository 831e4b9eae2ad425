package io.pmeparquet.snapshot.manifest

import java.security.{KeyPair, PublicKey, Signature}

import io.pmeparquet.keys.{PublicKeys, SigningKey}

/** Signs with a pair of keys that a suite has. */
final class PairSigningKey(pair: KeyPair) extends SigningKey {
  override def describe: String = "a key of this suite"
  override def algorithm: String =
    PublicKeys.algorithmOf(pair.getPublic).getOrElse(pair.getPublic.getAlgorithm)
  override def publicKey: PublicKey = pair.getPublic
  override def sign(message: Array[Byte], where: String): Array[Byte] = {
    val signature = Signature.getInstance(algorithm)
    signature.initSign(pair.getPrivate)
    signature.update(message)
    signature.sign()
  }
}
