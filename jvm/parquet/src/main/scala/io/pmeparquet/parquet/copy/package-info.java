/**
 * Writes a file again under other keys, encrypted for the first time, or decrypted: module by module, never decoded.
 * `FileRewrite` does it to another place, `FileInPlace` to the file's own, within an `InPlaceRun` that survives being
 * killed; `CopyCheck` opens all of the result before it counts. Used by pme.rekey, pme.encrypt and pme.decrypt. Start
 * with `FileRewrite.write`.
 */
package io.pmeparquet.parquet.copy;
