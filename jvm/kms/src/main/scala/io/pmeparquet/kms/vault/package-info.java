/**
 * `kms=vault`: the transit engine of HashiCorp Vault or OpenBao. `VaultSettings` has what options say,
 * `VaultKms` wraps and unwraps, `VaultTokens` logs in and renews, `VaultTransit` makes calls. All of Vault is here but
 * `kms.VaultKmsClient`, the public name for Spark's own `parquet` source. Start with `VaultKms`.
 */
package io.pmeparquet.kms.vault;
