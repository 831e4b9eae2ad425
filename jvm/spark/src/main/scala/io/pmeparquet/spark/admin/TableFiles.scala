package io.pmeparquet.spark.admin

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}

import io.pmeparquet.material.MaterialFile
import io.pmeparquet.parquet.files.{LinkedDirectories, ListedFile}
import io.pmeparquet.parquet.rotation.FileRotation
import io.pmeparquet.PmeErrors

/**
 * The files of a table, partitions and all, by the names that Spark's readers go by. ''Driver only.''
 *
 * @param leftovers of rotations that were killed
 * @param logs that keep the lengths of some of the files, as far as they lie below the path
 * @param marks of what changes files below the path, or was killed
 * @param passedOver files and directories that readers do not see, and that may have rows
 */
private[admin] final case class TableFiles(
    files: Seq[ListedFile],
    leftovers: Seq[Path],
    logs: Seq[TableLog],
    marks: Seq[Path],
    passedOver: Seq[FileStatus]
)

private[admin] object TableFiles {

  def qualified(path: String, conf: Configuration): Path = {
    val named = new Path(path)
    named.getFileSystem(conf).makeQualified(named)
  }

  /** @param path a directory or a file */
  def list(path: Path, conf: Configuration): TableFiles = {
    val fs = path.getFileSystem(conf)
    val status = statusOf(path, conf)
    if (status.isDirectory) below(status.getPath, fs)
    else {
      val beside = fs.listStatus(status.getPath.getParent).map(_.getPath.getName).toSet
      TableFiles(Seq(listed(status, beside)), Nil, Nil, Nil, Nil)
    }
  }

  /** @throws io.pmeparquet.PmeException where there is nothing */
  def statusOf(path: Path, conf: Configuration): FileStatus =
    try path.getFileSystem(conf).getFileStatus(path)
    catch { case _: FileNotFoundException => throw PmeErrors.nothingThere(path.toString) }

  /** @throws io.pmeparquet.PmeException where files were found behind a link, and are those of another place */
  def requireNoLinks(path: Path, found: TableFiles, conf: Configuration): Unit =
    LinkedDirectories.first(path, found.files.map(file => new Path(file.path)), conf).foreach { link =>
      throw PmeErrors.linkedDirectory(path.toString, link.toString)
    }

  /** The directory of the table that a path is, or is a partition or a file of. */
  def tableOf(path: Path, conf: Configuration): Path = {
    statusOf(path, conf)
    levels(path, conf).last
  }

  /** What keeps the lengths of files, of the tables that are found at a path and of those that it is a part of. */
  def logs(path: Path, found: TableFiles, conf: Configuration): Seq[TableLog] =
    found.logs ++ TableLog.above(levels(path, conf), path.getFileSystem(conf))

  /** A path, and what is above it, up to the table's directory. */
  private def levels(path: Path, conf: Configuration): Seq[Path] = {
    val fs = path.getFileSystem(conf)
    val (partitions, above) = Iterator
      .iterate(path)(_.getParent)
      .takeWhile(_ != null)
      .toList
      .span(one => fs.getFileStatus(one).isFile || one.getName.contains('='))
    partitions ++ above.take(1)
  }

  private def below(directory: Path, fs: FileSystem): TableFiles = {
    val children = fs.listStatus(directory).toSeq
    val names = children.map(_.getPath.getName).toSet
    val (directories, files) = children.partition(_.isDirectory)
    val (hidden, seen) = directories.partition(isHidden)
    val inner = seen.map(one => below(one.getPath, fs))
    TableFiles(
      files.filterNot(isHidden).map(listed(_, names)) ++ inner.flatMap(_.files),
      files.filter(isLeftover).map(_.getPath) ++ inner.flatMap(_.leftovers),
      TableLog.in(children.map(_.getPath)).toSeq ++ inner.flatMap(_.logs),
      children.map(_.getPath).filter(TableMarks.isMark) ++ inner.flatMap(_.marks),
      (files.filter(isHidden) ++ hidden).filterNot(isHarmless) ++ inner.flatMap(_.passedOver)
    )
  }

  private def listed(file: FileStatus, names: Set[String]) =
    ListedFile(
      file.getPath.toString,
      file.getLen,
      file.getModificationTime,
      names.contains(MaterialFile.nameFor(file.getPath.getName))
    )

  /** What this and other writers keep beside files, and that has no rows. */
  private def isHarmless(file: FileStatus) = {
    val name = file.getPath.getName
    name == "_SUCCESS" || Harmless.exists(name.startsWith) || (name.startsWith(".") && name.endsWith(".crc"))
  }

  private val Harmless = Seq("_started_", "_committed_", ".pme-", MaterialFile.Prefix)

  private def isLeftover(file: FileStatus) = file.getPath.getName.startsWith(FileRotation.LeftoverPrefix)

  // As Spark has it: a partition's directory may begin with an underscore.
  private def isHidden(file: FileStatus) = {
    val name = file.getPath.getName
    name.startsWith(".") || (name.startsWith("_") && !name.contains("=")) || name.endsWith("._COPYING_")
  }
}
