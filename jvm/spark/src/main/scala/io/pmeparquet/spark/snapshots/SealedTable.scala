package io.pmeparquet.spark.snapshots

import java.io.FileNotFoundException
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.snapshot.{IndexContent, SealedFiles, TableSnapshot}
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.snapshot.parts.SealedFile
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
   * Compares files of the table that were listed with the snapshot's. Anybody can write the listings that Spark trusts, as
   * `_spark_metadata`: neither a name that the snapshot lacks nor a second copy of one is read.
   *
   * @param roots of the read: a file that lies below two of them is read twice, as the reader asked
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_MISMATCH` for the first that the snapshot does not list, or lists
   *   with another length
   */
  def requireListed(files: Seq[FileStatus], roots: Seq[Path], conf: Configuration): Unit = {
    files.foreach { file =>
      def mismatch(why: String) = now(file.getPath, conf) match {
        // Spark has listed the table before somebody else changed and sealed it.
        case there if there != Some(file.getLen) && isAsSealed(file.getPath, there) =>
          PmeErrors.changedSinceListed(directory.toString)
        case _ => PmeErrors.snapshotMismatch(file.getPath.toString, why)
      }
      val sealedFile = relative(file.getPath)
        .flatMap(snapshot.byPath.get)
        .getOrElse(throw mismatch(s"the file is not in the list of version ${snapshot.version.number}"))
      if (sealedFile.length != file.getLen)
        throw mismatch(
          s"the file is ${file.getLen} bytes long, and was ${sealedFile.length} bytes long when it was sealed"
        )
    }
    files.groupBy(_.getPath).foreach { case (path, same) =>
      if (same.size > roots.count(SealedFiles.isAtOrBelow(_, path)).max(1))
        throw PmeErrors.snapshotMismatch(path.toString, "the file was listed twice")
    }
  }

  /** The length that a file has now; none if it is gone. */
  private def now(file: Path, conf: Configuration): Option[Long] =
    try Some(file.getFileSystem(conf).getFileStatus(file).getLen)
    catch { case _: FileNotFoundException => None }

  /** @param length none for a file that is not there */
  private def isAsSealed(file: Path, length: Option[Long]): Boolean =
    relative(file).flatMap(snapshot.byPath.get).map(_.length) == length

  /**
   * Requires that a read has every file of the snapshot that it asks for, and that the others are there.
   *
   * @param listed the files that Spark listed
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
    val missing = snapshot.files.filterNot(file => names(file.path))
    if (missing.nonEmpty) {
      // A pattern that chooses files has become a list of those that are there.
      val roots = below.filterNot(root => relative(root).exists(snapshot.byPath.contains))
      val (asked, others) = missing.partition(file => roots.exists(SealedFiles.isAtOrBelow(_, pathOf(file))))
      if (!isFiltered) asked.headOption.foreach(file => throw isMissing(file, conf))
      val choosesFiles = isFiltered || roots.size < below.size
      if (choosesFiles && !isOfCatalog) requireFiles(missing, conf)
      else if (choosesFiles) requireFiles(asked, conf)
      else if (!isOfCatalog) requireDirectories(others, conf)
    }
  }

  private def pathOf(file: SealedFile) = new Path(directory, file.path)

  private def isMissing(file: SealedFile, conf: Configuration) = PmeErrors.snapshotMismatch(
    pathOf(file).toString,
    s"version ${snapshot.version.number} lists the file, and " +
      (if (now(pathOf(file), conf).contains(file.length))
         "this read does not, because it was added after this table was loaded (load the table again), or the log of a " +
           "stream (_spark_metadata) leaves it out"
       else "it is missing")
  )

  /** Requires files that a read did not list: those that a pattern or a filter chose tell nothing of one that was removed. */
  private def requireFiles(files: Seq[SealedFile], conf: Configuration): Unit = {
    val there = mutable.HashSet.empty[String]
    val found = directory.getFileSystem(conf).listFiles(directory, /* recursive= */ true)
    while (found.hasNext) relative(found.next().getPath).foreach(there += _)
    files.find(file => !there(file.path)).foreach(file => throw isMissing(file, conf))
  }

  /**
   * Requires the directories of files that this read did not list: a pattern of paths must not hide a partition that was
   * removed. Whoever removes files of a directory that is read is noticed above.
   */
  private def requireDirectories(files: Seq[SealedFile], conf: Configuration): Unit = {
    val there = mutable.HashMap.empty[Path, Set[String]]
    def exists(below: Path): Boolean = below == directory || {
      val parent = below.getParent
      exists(parent) && there.getOrElseUpdate(parent, namesIn(parent, conf)).contains(below.getName)
    }
    files.map(pathOf(_).getParent).distinct.find(!exists(_)).foreach { missing =>
      throw PmeErrors.snapshotMismatch(
        missing.toString,
        s"version ${snapshot.version.number} lists files in this directory, and it is missing"
      )
    }
  }

  private def namesIn(parent: Path, conf: Configuration): Set[String] =
    parent.getFileSystem(conf).listStatus(parent).iterator.filter(_.isDirectory).map(_.getPath.getName).toSet

  /** Requires every file of the snapshot, for a stream, whose batches have only the files that are there. */
  def requireWhole(conf: Configuration): Unit = requireFiles(snapshot.files, conf)
}
