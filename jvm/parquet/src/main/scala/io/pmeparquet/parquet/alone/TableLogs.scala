package io.pmeparquet.parquet.alone

import org.apache.hadoop.fs.Path

/**
 * Parquet files in a table's log: checkpoints of Delta, and the archived timeline of Hudi. They have none of the table's
 * columns but their statistics and partition values, and so are under the footer's key as a whole. Delta only logs a
 * warning if it cannot write one. A write of Hudi fails after its commit.
 */
private[alone] object TableLogs {
  private val Delta = "_delta_log"
  private val Hudi = ".hoodie"

  /** Whether the file lies in a log; data never does. */
  def contain(file: Path): Boolean = {
    val directories = Iterator.iterate(file.getParent)(_.getParent).takeWhile(_ != null).map(_.getName).toSeq
    directories.headOption.contains(Delta) || directories.take(2) == Seq("_sidecars", Delta) || directories
      .contains(Hudi)
  }

  /** Of a job whose other files may be under other keys. */
  def identityOf(job: String): String = s"$job log"
}
