/**
 * Spark's Parquet decoders, fed with row groups that we decrypted: the step from a row group's pages to Spark's rows
 * and batches. Knows the internals of Spark's readers, and nothing of options, keys or a file's encryption. Start with
 * `RowGroupSource`, then `VectorizedPages` (batches) or `RowPages` (rows). `VectorizedLink` reaches private members of
 * Spark.
 */
package io.pmeparquet.spark.decode;
