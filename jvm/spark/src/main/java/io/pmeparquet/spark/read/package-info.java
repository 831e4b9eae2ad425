/**
 * Scans of encrypted files, by Spark's V1 and V2 paths. It decides what a scan gives to its tasks, infers the schema,
 * and reads refused columns as NULL. Knows options and decoders; of a session's rules it knows only how to install them
 * (`SessionRules`). Start with `EncryptedParquetFormat` (V1) or `EncryptedParquetTable` (V2), then `PagesRead`, which
 * reads a split, or `SplitAdmission`, which checks a split before Spark's own reader reads it.
 */
package io.pmeparquet.spark.read;
