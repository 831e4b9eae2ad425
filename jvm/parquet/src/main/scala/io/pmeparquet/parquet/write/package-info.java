/**
 * What parquet-java needs to write an encrypted file: keys and properties (`FileEncryption`), checks before the write
 * (`WriteRules`), and no statistics in the clear (`SizeStatistics`). parquet-java encrypts the modules. Knows a write's
 * scope, and no reader. Start with `FileEncryption`.
 */
package io.pmeparquet.parquet.write;
