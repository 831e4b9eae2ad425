package io.pmeparquet.cipher

import javax.crypto.Cipher

/** What makes the JCE's ciphers: a [[CryptoProvider]], or one that has yet to pass its self-test. */
trait CipherSource {
  def name: String
  private[cipher] def gcm(): Cipher
  private[cipher] def ctr(): Cipher
}
