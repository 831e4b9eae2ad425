package io.pmeparquet.spark.snapshots

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{PartitioningAwareFileIndex, PathFilterFactory}
import org.apache.spark.sql.types.StructField

/**
 * What Spark has found for a read, and how. Nothing of it is trusted. ''Driver only.''
 *
 * @param roots the paths of the read
 * @param listed all files that Spark has listed below them
 * @param read those that a scan without filters reads. Spark leaves out files of `listed`, as those beside directories that
 *   look like partitions.
 * @param columns the partition columns
 * @param partitions the directories from which Spark took their names, types and values
 * @param filters the options that leave out files
 */
private[spark] final class FoundFiles private (
    val roots: Seq[Path],
    val listed: Seq[FileStatus],
    val read: Seq[FoundFiles.Read],
    val columns: Seq[StructField],
    val partitions: Seq[Path],
    val filters: FoundFiles.Filters
) {
  private val rootPaths = roots.iterator.map(_.toUri.getPath).toSet

  /** Whether a file is one of the roots, of which there may be as many as files, or below one. */
  def isBelowRoot(file: Path): Boolean =
    Iterator.iterate(file)(_.getParent).takeWhile(_ != null).exists(one => rootPaths(one.toUri.getPath))
}

private[spark] object FoundFiles {

  /** @param values of the partition columns that its rows get */
  final class Read(val file: FileStatus, val values: InternalRow)

  /** Spark's filters of files by their names and times. */
  final class Filters(options: Map[String, String]) {
    private val all = PathFilterFactory.create(CaseInsensitiveMap(options))

    def areAny: Boolean = all.nonEmpty
    def accept(file: FileStatus): Boolean = all.forall(_.accept(file))
  }

  /** @param options of the read */
  def of(index: PartitioningAwareFileIndex, options: Map[String, String]): FoundFiles = {
    val spec = index.partitionSpec()
    new FoundFiles(
      index.rootPaths,
      index.allFiles(),
      index
        .listFiles(Nil, Nil)
        .flatMap(part => part.files.map(file => new Read(file.fileStatus, part.values))),
      spec.partitionColumns.fields.toSeq,
      spec.partitions.map(_.path),
      new Filters(options)
    )
  }
}
