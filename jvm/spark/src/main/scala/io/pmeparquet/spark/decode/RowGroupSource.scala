/*
 * Package decode: Spark's Parquet decoders, fed with row groups that we decrypted.
 * It takes the step from a row group's pages to Spark's rows and batches.
 * It knows Spark's readers from inside, and nothing of options, keys or a file's encryption.
 * Start with RowGroupSource, then VectorizedPages (batches) or RowPages (rows).
 * VectorizedLink reaches what is private in Spark.
 */
package io.pmeparquet.spark.decode

import java.io.Closeable

import org.apache.parquet.column.page.PageReadStore

/** Row groups, one after the other. For one thread. */
private[spark] trait RowGroupSource extends Closeable {

  /** Goes to the next row group of which rows are wanted, and says how many; 0 after the last. */
  def advance(): Long

  /** The pages of the row group that [[advance]] went to. */
  def pages(): PageReadStore
}
