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
