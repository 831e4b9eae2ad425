package io.pmeparquet.kms

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.keytools.KmsClient

import io.pmeparquet.{AesKey, Secret}
import io.pmeparquet.keys.Kms
import io.pmeparquet.kms.client.{ClientTerms, ConfValues}
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
final class VaultKmsClient extends KmsClient {
  private var kms: Kms = _

  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    kms = ClientTerms.inItsTerms(new VaultKms(VaultSettings.of(new VaultConfValues(conf, token))))

  override def wrapKey(keyBytes: Array[Byte], masterKeyId: String): String =
    ClientTerms.inItsTerms(kms.wrap(AesKey.of(keyBytes, "key to wrap"), masterKeyId, "key to wrap"))

  override def unwrapKey(wrappedKey: String, masterKeyId: String): Array[Byte] =
    ClientTerms.inItsTerms(kms.unwrap(wrappedKey, masterKeyId, "wrapped key").insecureBytes)
}

/** Vault's settings under parquet-java's names: its access token is Vault's, and its instance URL Vault's address. */
private final class VaultConfValues(conf: Configuration, token: String) extends ConfValues(conf) {
  override def text(option: OptionSpec): Option[String] = option match {
    case PmeOptions.VaultUrl => set(option).orElse(set(PmeOptions.InstanceUrl))
    case _ => super.text(option)
  }

  override def secret(option: OptionSpec): Option[Secret] = option match {
    case PmeOptions.VaultToken => Some(new Secret(token)).filter(_.insecureValue != Kms.Default)
    case _ => super.secret(option)
  }
}
