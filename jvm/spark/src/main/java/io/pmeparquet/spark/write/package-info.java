/**
 * Write jobs of the format. It checks a job before the job writes anything, and prepares what its tasks need to write
 * encrypted files. Knows options and Spark's writers. parquet-java encrypts, set up by `io.pmeparquet.parquet.write`.
 * Start with `EncryptedWrite`.
 */
package io.pmeparquet.spark.write;
