/**
 * What one read or one write may do: settings, access to keys, and caches that only equal reads share. `Scopes` makes
 * a `ReadScope` or `WriteScope` on the driver, and `ScopeRegistry` finds it again in each JVM; `FileKeys` gets the keys
 * of one file through a scope; `KmsTrial` tries out a KMS. Knows KMSs through `KeySource`, and opens no file but key
 * material. Start with `Scopes.forRead`.
 */
package io.pmeparquet.parquet.scope;
