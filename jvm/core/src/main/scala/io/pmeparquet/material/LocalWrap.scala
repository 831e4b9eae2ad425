package io.pmeparquet.material

import java.nio.charset.StandardCharsets.UTF_8
import java.security.{GeneralSecurityException, Provider, ProviderException, SecureRandom}
import java.util.Base64
import javax.crypto.{AEADBadTagException, Cipher, SecretKey}
import javax.crypto.spec.GCMParameterSpec

import io.pmeparquet.{AesKey, PmeErrors, PmeException}

/**
 * A key encrypted with another key and AES-GCM, in the format of parquet-java's `KeyToolkit.encryptKeyLocally`:
 * `base64(nonce ‖ ciphertext ‖ tag)`. The AAD is the id of the wrapping key, so a wrapped key cannot be passed off as
 * wrapped by another key.
 */
object LocalWrap {
  val NonceBytes = 12
  val TagBytes = 16

  private val transformation = "AES/GCM/NoPadding"

  /** The longest key has 32 bytes; a wrapped key is never longer than that and its framing. */
  private val MaxWrappedBytes = NonceBytes + AesKey.AllowedBits.max / 8 + TagBytes

  /**
   * @param where what the key belongs to, for messages
   * @param provider the provider of the wrapping key, for a key that cannot leave it
   */
  def wrap(
      key: AesKey,
      wrapping: SecretKey,
      aad: Array[Byte],
      random: SecureRandom,
      where: String,
      provider: Option[Provider] = None
  ): String = {
    val nonce = new Array[Byte](NonceBytes)
    random.nextBytes(nonce)
    try {
      val cipher = instance(provider)
      cipher.init(Cipher.ENCRYPT_MODE, wrapping, new GCMParameterSpec(TagBytes * 8, nonce))
      cipher.updateAAD(aad)
      Base64.getEncoder.encodeToString(nonce ++ cipher.doFinal(key.insecureBytes))
    } catch {
      case failed @ (_: GeneralSecurityException | _: ProviderException) =>
        throw PmeErrors.kmsUnavailable(where, s"a key cannot be wrapped (${failed.getClass.getName})", failed)
    }
  }

  /**
   * @param where what the key belongs to, for messages
   * @param masterKey the id of the wrapping key, for messages
   */
  def unwrap(
      wrapped: String,
      wrapping: SecretKey,
      aad: Array[Byte],
      where: String,
      masterKey: String,
      provider: Option[Provider] = None
  ): AesKey = {
    val bytes = decode(wrapped, where)
    try {
      val cipher = instance(provider)
      cipher.init(Cipher.DECRYPT_MODE, wrapping, new GCMParameterSpec(TagBytes * 8, bytes, 0, NonceBytes))
      cipher.updateAAD(aad)
      AesKey.of(cipher.doFinal(bytes, NonceBytes, bytes.length - NonceBytes), where)
    } catch {
      case failed: AEADBadTagException => throw PmeErrors.wrappedKeyNotAuthentic(where, masterKey, failed)
      case failed @ (_: GeneralSecurityException | _: ProviderException) =>
        throw PmeErrors.kmsUnavailable(
          where,
          s"the cipher refused to unwrap (${failed.getClass.getName})",
          failed
        )
    }
  }

  /** How long the wrapped key is, in bits; none for text of another kind, such as what a KMS wraps itself. */
  def bitsOf(wrapped: String): Option[Int] =
    try {
      val bytes = Base64.getDecoder.decode(wrapped).length - NonceBytes - TagBytes
      AesKey.AllowedBits.find(_ == bytes * java.lang.Byte.SIZE)
    } catch { case _: IllegalArgumentException => None }

  def aadOf(masterKeyId: String): Array[Byte] = masterKeyId.getBytes(UTF_8)

  private def decode(wrapped: String, where: String): Array[Byte] = {
    def unusable(why: String, cause: Throwable = null): PmeException =
      PmeErrors.keyMetadata(where, why, cause)
    // Four characters of base64 hold three bytes.
    if (wrapped.length > (MaxWrappedBytes + 2) / 3 * 4)
      throw unusable("a wrapped key is too long for an AES key")
    val bytes =
      try Base64.getDecoder.decode(wrapped)
      catch { case failed: IllegalArgumentException => throw unusable("a wrapped key is not base64", failed) }
    if (bytes.length <= NonceBytes + TagBytes) throw unusable("a wrapped key is too short for an AES key")
    bytes
  }

  private def instance(provider: Option[Provider]): Cipher =
    provider.fold(Cipher.getInstance(transformation))(Cipher.getInstance(transformation, _))
}
