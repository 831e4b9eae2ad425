package io.pmeparquet.spark.snapshots

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.snapshot.SnapshotDirectory

/** Finds the table of a path. ''Crosses the wire.'' */
private[spark] object TableDirectories {

  /**
   * The directories of which one is the table's, for a path that is the table, a partition or a file of it: the nearest
   * first. The last is the table's, unless only a nearer one has snapshots.
   */
  def of(path: Path, isFile: Boolean): Seq[Path] = {
    val directory = if (isFile) path.getParent else path
    val (partitions, above) =
      Iterator.iterate(directory)(_.getParent).takeWhile(_ != null).toList.span(_.getName.contains('='))
    partitions ++ above.take(1)
  }

  /** The directories among these with snapshots, or with anything of that name. */
  def withSnapshots(directories: Seq[Path], conf: Configuration): Seq[Path] =
    directories.filter(SnapshotDirectory.isIn(_, conf))
}
