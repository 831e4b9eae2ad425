/**
 * Who asks whom for keys. `Kms` is the interface of a KMS, which `jvm/kms` implements. `KeySource` is what readers and
 * writers ask: on the driver a `KmsSource`, which asks the KMS once for each key; on an executor a `KeyBroker`, which
 * asks the driver. `KeyBrokers` answers there. `Rewrapping` gives keys a new master key. Knows no KMS by name. Start
 * with `KeySource`.
 */
package io.pmeparquet.keys;
