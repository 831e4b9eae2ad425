package io.pmeparquet.parquet.alone

import org.apache.hadoop.fs.Path

/**
 * Checkpoints of Delta tables. They lie in the log, have none of the table's columns but their statistics and partition
 * values, and so are under the footer's key as a whole. Delta only logs a warning if it cannot write one.
 */
private[alone] object DeltaLogs {
  private val Log = "_delta_log"

  /** Whether the file lies in a log; data never does. */
  def contain(file: Path): Boolean = {
    val parent = file.getParent
    parent != null && (parent.getName == Log ||
      (parent.getName == "_sidecars" && parent.getParent != null && parent.getParent.getName == Log))
  }

  /** Of a job whose other files may be under other keys. */
  def identityOf(job: String): String = s"$job _delta_log"
}
