/**
 * Master keys in this process or on this machine: `kms=keystore` (a Java keystore, or a PKCS#11 token or HSM) and
 * `kms=static` (keys listed in a secret). `LimitedCalls` keeps a token that hangs from blocking more than its callers.
 * Knows the JDK's keystores and providers. Start with `KeystoreKms`.
 */
package io.pmeparquet.kms.local;
