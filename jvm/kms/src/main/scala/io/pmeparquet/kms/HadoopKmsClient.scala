package io.pmeparquet.kms

import java.security.SecureRandom

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.crypto.key.KeyProviderCryptoExtension
import org.apache.hadoop.crypto.key.KeyProviderCryptoExtension.EncryptedKeyVersion

import io.pmeparquet.kms.client.{ConfOptionReader, KmsFailure, ParquetJavaClient}
import io.pmeparquet.kms.hadoop.{HadoopKmsAddress, HadoopKmsCalls, HadoopLocalKey, HadoopWrapped}
import io.pmeparquet.material.LocalWrap
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.AesKey

/**
 * `kms=hadoop`, and a KMS client for Spark's own `parquet` source:
 * {{{
 * parquet.encryption.kms.client.class  io.pmeparquet.kms.HadoopKmsClient
 * parquet.encryption.kms.hadoop.uri    kms://https@kms.example:9600/kms
 * }}}
 * Hadoop KMS wraps no key that is given to it. It makes one, hands it out encrypted, and opens it again: so each key is
 * wrapped here, under a key that Hadoop KMS made for it and alone can open.
 */
final class HadoopKmsClient extends ParquetJavaClient {
  private val random = new SecureRandom
  private var provider: KeyProviderCryptoExtension = _
  private var calls: HadoopKmsCalls = _
  private var opensLocalKeys = false

  override protected def open(conf: Configuration, token: String): Unit = {
    opensLocalKeys = conf.getBoolean(HadoopKmsClient.OpensLocalKeys, false)
    calls = new HadoopKmsCalls(new ConfOptionReader(conf).millis(PmeOptions.KmsTimeout))
    provider = HadoopKmsAddress.open(conf, calls.timeoutSeconds)
    val opened = provider
    closeAfterUse(() => opened.close())
  }

  override protected def wrap(keyBytes: Array[Byte], masterKeyId: String): String = {
    val where = "key to wrap"
    val (eek, wrapping) = calls.of(masterKeyId) {
      // Of what was fetched ahead, versions may be from before the key was rolled.
      provider.drain(masterKeyId)
      val made = provider.generateEncryptedKey(masterKeyId)
      made -> open(made)
    }
    val wrapped = LocalWrap.wrap(
      AesKey.of(keyBytes, where),
      AesKey.of(wrapping, where).toSecretKey,
      LocalWrap.aadOf(masterKeyId),
      random,
      where
    )
    new HadoopWrapped(
      versionOf(eek, masterKeyId),
      eek.getEncryptedKeyIv,
      eek.getEncryptedKeyVersion.getMaterial,
      wrapped
    ).toString
  }

  override protected def unwrap(wrapped: String, masterKeyId: String): Array[Byte] =
    if (opensLocalKeys && HadoopLocalKey.is(wrapped))
      openLocalKey(HadoopLocalKey.parse(wrapped), masterKeyId)
    else unwrapped(wrapped, masterKeyId)

  private def unwrapped(wrappedKey: String, masterKeyId: String): Array[Byte] = {
    val where = "wrapped key"
    val parts = HadoopWrapped.parse(wrappedKey)
    val version = s"$masterKeyId@${parts.version}"
    val wrapping = calls.of(masterKeyId) {
      open(EncryptedKeyVersion.createForDecryption(masterKeyId, version, parts.iv, parts.eek))
    }
    val aad = LocalWrap.aadOf(masterKeyId)
    LocalWrap
      .unwrap(parts.key, AesKey.of(wrapping, where).toSecretKey, aad, where, masterKeyId)
      .insecureBytes
  }

  private def openLocalKey(key: HadoopLocalKey, masterKeyId: String): Array[Byte] = calls.of(masterKeyId) {
    val version = s"$masterKeyId@${key.version}"
    open(EncryptedKeyVersion.createForDecryption(masterKeyId, version, key.iv, key.encrypted))
  }

  private def open(eek: EncryptedKeyVersion): Array[Byte] = provider.decryptEncryptedKey(eek).getMaterial

  private def versionOf(eek: EncryptedKeyVersion, masterKeyId: String): Int = {
    val number = Option(eek.getEncryptionKeyVersionName).filter(_.startsWith(s"$masterKeyId@"))
    try number.map(_.drop(masterKeyId.length + 1).toInt).get
    catch {
      case _: NumberFormatException | _: NoSuchElementException =>
        throw KmsFailure.unavailable(
          "Hadoop KMS returned a key version that does not belong to the master key",
          null
        )
    }
  }
}

private[pmeparquet] object HadoopKmsClient {

  /**
   * Set in the configuration of a client for ORC files: it opens their local keys, too. Other clients do not. A local key
   * has no tag, and whoever has read an ORC file knows one: it must not pass for a wrapped key of a Parquet file.
   */
  val OpensLocalKeys = "pme.parquet.kms.hadoop.opens.local.keys"

  /** What such a client unwraps: a local key of an ORC file, encrypted under a version of a master key. */
  def localKeyText(version: Int, encrypted: Array[Byte]): String =
    new HadoopLocalKey(version, encrypted).toString

  /** Whether a text is what [[localKeyText]] makes, or begins as that does. */
  def isLocalKeyText(text: String): Boolean = HadoopLocalKey.is(text)
}
