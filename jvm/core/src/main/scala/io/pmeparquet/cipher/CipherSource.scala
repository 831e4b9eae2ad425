package io.pmeparquet.cipher

import javax.crypto.Cipher

/** Creates the JCE's ciphers: a [[CryptoProvider]], or one that has not yet passed its self-test. */
trait CipherSource {
  def name: String
  private[cipher] def gcm(): Cipher
  private[cipher] def ctr(): Cipher
}
