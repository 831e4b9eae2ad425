package io.pmeparquet.kms

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{AesKey, Secret}
import io.pmeparquet.keys.Kms
import io.pmeparquet.kms.client.{ConfOptionReader, ParquetJavaClient}
import io.pmeparquet.kms.vault.{VaultKms, VaultSettings}
import io.pmeparquet.options.{OptionSpec, PmeOptions}

/**
 * `kms=vault` for Spark's own `parquet` source and anything else that takes a parquet-java KMS client:
 * {{{
 * parquet.encryption.kms.client.class  io.pmeparquet.kms.VaultKmsClient
 * parquet.encryption.kms.instance.url  https://vault:8200
 * parquet.encryption.key.access.token  the token
 * }}}
 * Other settings have the names of our options behind `parquet.encryption.`, such as
 * `parquet.encryption.kms.vault.mount`; secrets may be aliases of Hadoop's credential providers.
 */
final class VaultKmsClient extends ParquetJavaClient {
  private var kms: Kms = _

  override protected def open(conf: Configuration, token: String): Unit =
    kms = new VaultKms(VaultSettings.of(new VaultOptionReader(conf, token)))

  override protected def wrap(key: Array[Byte], masterKeyId: String): String =
    kms.wrap(AesKey.of(key, "key to wrap"), masterKeyId, "key to wrap")

  override protected def unwrap(wrapped: String, masterKeyId: String): Array[Byte] =
    kms.unwrap(wrapped, masterKeyId, "wrapped key").insecureBytes
}

/** Vault's settings under parquet-java's names: its access token is Vault's, and its instance URL Vault's address. */
private final class VaultOptionReader(conf: Configuration, token: String) extends ConfOptionReader(conf) {
  override def text(option: OptionSpec): Option[String] = option match {
    case PmeOptions.VaultUrl => set(option).orElse(set(PmeOptions.InstanceUrl))
    case _ => super.text(option)
  }

  override def secret(option: OptionSpec): Option[Secret] = option match {
    case PmeOptions.VaultToken => Some(new Secret(token)).filter(_.insecureValue != Kms.Default)
    case _ => super.secret(option)
  }
}
