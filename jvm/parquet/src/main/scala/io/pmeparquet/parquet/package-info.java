/**
 * Parquet files under Parquet Modular Encryption: reads, writes, copies, rotates, verifies and describes single
 * files. It knows Hadoop and parquet-java, and no Spark: `jvm/spark` calls it, and lists the files of a table.
 * Packages, from the lowest: `bytes`, `schema`, `storage`, `scope`, `admission`, `write`, `chunk`, `file`, then the
 * work on whole files: `rotation`, `inspect`, `verify`, `copy`. Start with `file.SplitReader` for reads and
 * `PmeCryptoFactory`, which parquet-java calls, for writes.
 */
package io.pmeparquet.parquet;
