/**
 * What one read or one write may do: settings, the way to keys, and caches, which no other read shares. `Scopes`
 * makes scopes on the driver and finds them on executors; `FileKeys` gets the keys of one file through a scope;
 * `KmsTrial` tries a KMS out. Knows KMSs through `KeySource`, and opens no file but key material. Start with
 * `Scopes.forRead`.
 */
package io.pmeparquet.parquet.scope;
