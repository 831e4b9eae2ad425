/**
 * Rewrites a file under other keys, encrypts it for the first time, or decrypts it: module by module, without decoding.
 * `FileRewrite` writes to another place, `FileInPlace` replaces the file, within an `InPlaceRun` that survives being
 * killed; `CopyCheck` opens every module of the result before it counts. Used by pme.rekey, pme.encrypt and
 * pme.decrypt. Start with `FileRewrite.write`.
 */
package io.pmeparquet.parquet.copy;
