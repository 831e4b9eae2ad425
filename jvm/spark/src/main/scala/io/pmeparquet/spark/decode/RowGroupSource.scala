package io.pmeparquet.spark.decode

import java.io.Closeable

import org.apache.parquet.column.page.PageReadStore

/** Row groups, one after the other. For one thread. */
private[spark] trait RowGroupSource extends Closeable {

  /** Moves to the next row group with wanted rows. Returns their number, or 0 after the last row group. */
  def advance(): Long

  /** The pages of the row group that [[advance]] went to. */
  def pages(): PageReadStore
}
