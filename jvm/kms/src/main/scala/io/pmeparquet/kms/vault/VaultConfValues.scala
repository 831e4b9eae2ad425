package io.pmeparquet.kms.vault

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.keys.Kms
import io.pmeparquet.kms.client.ConfValues
import io.pmeparquet.options.{OptionSpec, PmeOptions}
import io.pmeparquet.Secret

/** Vault's settings under parquet-java's names: its access token is Vault's, and its instance URL Vault's address. */
private[kms] final class VaultConfValues(conf: Configuration, token: String) extends ConfValues(conf) {
  override def text(option: OptionSpec): Option[String] = option match {
    case PmeOptions.VaultUrl => set(option).orElse(set(PmeOptions.InstanceUrl))
    case _ => super.text(option)
  }

  override def secret(option: OptionSpec): Option[Secret] = option match {
    case PmeOptions.VaultToken => Some(new Secret(token)).filter(_.insecureValue != Kms.Default)
    case _ => super.secret(option)
  }
}
