/**
 * What parquet-java needs to write an encrypted file: keys and properties (`FileEncryption`), checks before the write
 * (`WriteRules`), no statistics in the clear (`SizeStatistics`), and the encryption itself (`FileSealer`). Knows a write's
 * scope, and no reader. Start with `FileEncryption`.
 */
package io.pmeparquet.parquet.write;
