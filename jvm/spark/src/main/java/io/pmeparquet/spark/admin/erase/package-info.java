/**
 * Erasure: rows become unreadable when the key of their files is destroyed. Start with `Erasure`, which Python calls; `ErasureView`
 * finds out what a key opens, `ErasureProof` whether it is gone, and `ErasureRecord` is what remains: the certificate.
 */
package io.pmeparquet.spark.admin.erase;
