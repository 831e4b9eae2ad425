package io.pmeparquet.spark.snapshots

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.snapshot.{IndexContent, SealedFiles, TableSnapshot}
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.PmeErrors

/**
 * A table that is read by a snapshot. ''Driver only.''
 *
 * @param directory the table's, as the read names it
 * @param contentOf what an index says of the files; none if it cannot be read
 */
private[spark] final class SealedTable(
    val directory: Path,
    val snapshot: TableSnapshot,
    contentOf: IndexEntry => Option[IndexContent]
) {
  private val path = directory.toUri.getPath

  def digest: String = snapshot.version.digest

  lazy val seal: FileSeal = SealedFiles.of(directory, snapshot)

  private val contents = new ConcurrentHashMap[IndexEntry, Option[IndexContent]]

  /** What an index says of each file, by the file's path; none if the index cannot be read. */
  def summaries(index: IndexEntry): Option[String => Option[ColumnSummary]] =
    contents.computeIfAbsent(index, contentOf(_)).map(content => path => content.of(path))

  def indexes: Seq[IndexEntry] = snapshot.version.manifest.indexes

  def relative(file: Path): Option[String] = SealedFiles.relative(path, file)

  def holds(file: Path): Boolean = relative(file).isDefined

  /**
   * Compares files of the table that were listed with the snapshot's.
   *
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_MISMATCH` for the first that the snapshot does not list, or lists
   *   with another length
   */
  def requireListed(files: Seq[FileStatus]): Unit = files.foreach { file =>
    def mismatch(why: String) = PmeErrors.snapshotMismatch(file.getPath.toString, why)
    val sealedFile = relative(file.getPath)
      .flatMap(snapshot.byPath.get)
      .getOrElse(throw mismatch(s"the file is not in the list of version ${snapshot.version.number}"))
    if (sealedFile.length != file.getLen)
      throw mismatch(
        s"the file is ${file.getLen} bytes long, and was ${sealedFile.length} bytes long when it was sealed"
      )
  }

  /**
   * Requires that a listing has every file of the snapshot below some directories.
   *
   * @param listed the files that Spark listed there
   * @param below paths that are read; a file of the table counts as one
   * @param isFiltered whether the read's options leave files out by name or time
   * @param isOfCatalog whether a catalog says which partitions the table has: files in others are not looked for
   */
  def requireComplete(
      listed: Seq[FileStatus],
      below: Seq[Path],
      isFiltered: Boolean,
      isOfCatalog: Boolean,
      conf: Configuration
  ): Unit = {
    val names = listed.iterator.flatMap(file => relative(file.getPath)).toSet
    val missing = snapshot.files.iterator.map(_.path).filterNot(names.contains).toVector
    if (missing.nonEmpty) {
      def isBelow(file: String) = below.exists(SealedFiles.isAtOrBelow(_, new Path(directory, file)))
      if (!isFiltered) missing.find(isBelow).foreach { file =>
        throw PmeErrors.snapshotMismatch(
          new Path(directory, file).toString,
          s"version ${snapshot.version.number} lists the file, and it is missing, or was added after this table was loaded"
        )
      }
      if (!isOfCatalog) requireThere(missing, conf)
    }
  }

  /**
   * Requires the directories of files that this read did not list: a pattern of paths must not hide a partition that was
   * removed. Whoever removes files of a directory that is read is noticed above.
   */
  private def requireThere(files: Seq[String], conf: Configuration): Unit = {
    val there = mutable.HashMap.empty[Path, Set[String]]
    def exists(below: Path): Boolean = below == directory || {
      val parent = below.getParent
      exists(parent) && there.getOrElseUpdate(parent, namesIn(parent, conf)).contains(below.getName)
    }
    files.map(file => new Path(directory, file).getParent).distinct.find(!exists(_)).foreach { missing =>
      throw PmeErrors.snapshotMismatch(
        missing.toString,
        s"version ${snapshot.version.number} lists files in this directory, and it is missing"
      )
    }
  }

  private def namesIn(parent: Path, conf: Configuration): Set[String] =
    parent.getFileSystem(conf).listStatus(parent).iterator.filter(_.isDirectory).map(_.getPath.getName).toSet
}
