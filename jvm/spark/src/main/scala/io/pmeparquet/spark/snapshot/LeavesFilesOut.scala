package io.pmeparquet.spark.snapshot

/** A scan, or the format of one, that can leave out files whose footers' keys this reader does not get. ''Driver only.'' */
private[spark] trait LeavesFilesOut {

  /** How many it has left out so far. */
  def filesLeftOut: Long
}
