/**
 * `kms=vault`: the transit engine of HashiCorp Vault or OpenBao. `VaultOptions` makes `VaultSettings` from options,
 * `VaultKms` wraps and unwraps, `VaultTokens` logs in and renews, `VaultApi` makes one call. All of Vault is here but
 * `kms.VaultKmsClient`, the public name for Spark's own `parquet` source. Start with `VaultKms`.
 */
package io.pmeparquet.kms.vault;
