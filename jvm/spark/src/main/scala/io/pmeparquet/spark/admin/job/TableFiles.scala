package io.pmeparquet.spark.admin.job

import java.io.FileNotFoundException
import java.nio.file.AccessDeniedException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.security.AccessControlException
import org.slf4j.LoggerFactory

import io.pmeparquet.{Audience, PmeErrors, PmeException}
import io.pmeparquet.material.MaterialFile
import io.pmeparquet.parquet.copy.InPlaceRun
import io.pmeparquet.parquet.rotation.{FileRotation, RotationMark}
import io.pmeparquet.parquet.storage.{ErasureNotes, LinkedDirectories, ListedFile, TableSwap}
import io.pmeparquet.snapshot.SnapshotDirectory
import io.pmeparquet.spark.snapshot.SealedTable

/**
 * The files of a table, in all its partitions, that Spark's readers would read by their names. ''Driver only.''
 *
 * @param leftovers files that killed rotations left
 * @param logs logs below the path that record the lengths of some of the files
 * @param marks marks of operations that change files below the path, or that were killed
 * @param passedOver files and directories that readers ignore, and that may have rows
 */
private[admin] final case class TableFiles(
    files: Seq[ListedFile],
    leftovers: Seq[Path],
    logs: Seq[TableLog],
    marks: Seq[Path],
    passedOver: Seq[FileStatus]
)

private[spark] object TableFiles {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

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
      val names = fs.listStatus(status.getPath.getParent).map(_.getPath.getName).toSet
      TableFiles(Seq(listed(status, names)), Nil, Nil, Nil, Nil)
    }
  }

  /** @throws io.pmeparquet.PmeException if the path does not exist */
  def statusOf(path: Path, conf: Configuration): FileStatus =
    try path.getFileSystem(conf).getFileStatus(path)
    catch { case _: FileNotFoundException => throw PmeErrors.nothingThere(path.toString) }

  /** @throws io.pmeparquet.PmeException if the listing followed a link to files of another place */
  def requireNoLinks(path: Path, found: TableFiles, conf: Configuration): Unit =
    LinkedDirectories.first(path, found.files.map(file => new Path(file.path)), conf).foreach { link =>
      throw PmeErrors.linkedDirectory(path.toString, link.toString)
    }

  /** A file, or one that is somewhere in a directory. */
  private[admin] def anyFileOf(passedOver: Path, conf: Configuration): Option[Path] = {
    // For a file, the listing has only the file itself.
    val files = passedOver.getFileSystem(conf).listFiles(passedOver, /* recursive= */ true)
    if (files.hasNext) Some(files.next().getPath) else None
  }

  private def isMark(path: Path) =
    RotationMark.isMark(path) || InPlaceRun.isMark(path) || TableSwap.isMark(path)

  /**
   * For who takes every file that opens: during a compaction, rows are there twice.
   *
   * @param found what is at or below the path
   */
  def requireNoCompaction(path: Path, found: TableFiles, conf: Configuration): Unit = {
    val above = TableFiles.tableOf(path, conf)
    val ofTable = above.getFileSystem(conf).listStatus(above).toSeq.map(_.getPath)
    (found.marks ++ ofTable).find(TableSwap.isMark).foreach(mark => throw underWay(path.toString, mark))
  }

  /** The refusal of an operation on a table where a mark says that another one has not ended. */
  def underWay(table: String, mark: Path): PmeException =
    if (TableSwap.isMark(mark)) PmeErrors.compactionUnderWay(table, mark.toString)
    else PmeErrors.otherUnderWay(table, mark.toString)

  /**
   * Operations that rotate files or encrypt them in place list all directories below their path, so one that began above
   * or below this path may change the same files.
   *
   * @param below the marks below the path
   * @param own the caller's mark
   * @throws io.pmeparquet.PmeException if there is another mark above or below the path
   */
  def requireNoOtherMark(path: Path, below: Seq[Path], own: Path, conf: Configuration): Unit = {
    val fs = path.getFileSystem(conf)
    val above = Iterator.iterate(path.getParent)(_.getParent).takeWhile(_ != null).flatMap { directory =>
      ifReadable(directory)(fs.listStatus(directory).toSeq.map(_.getPath).filter(isMark))
    }
    // The file system may spell a path in another way, so this compares its own spellings.
    val mine = fs.makeQualified(own)
    (below.iterator ++ above).map(fs.makeQualified).find(_ != mine).foreach { other =>
      throw underWay(path.toString, other)
    }
  }

  /**
   * What is in a directory above a table, which the user need not have the right to read; nothing if the user may not read
   * it, or it does not exist.
   */
  private[admin] def ifReadable[A](directory: Path)(look: => Seq[A]): Seq[A] =
    try look
    catch {
      case refused @ (_: AccessDeniedException | _: AccessControlException | _: FileNotFoundException) =>
        log.debug(s"$directory could not be checked: ${refused.getMessage}")
        Nil
    }

  /** The directory of the table, for a path that is the table, a partition or a file of it. */
  def tableOf(path: Path, conf: Configuration): Path = {
    statusOf(path, conf)
    levels(path, conf).last
  }

  /** The logs that record lengths of files: those of tables below a path, and of tables that the path is a part of. */
  def logs(path: Path, found: TableFiles, conf: Configuration): Seq[TableLog] =
    found.logs ++ logsAbove(path, conf)

  /** The logs of tables that a path is, or is a part of. */
  def logsAbove(path: Path, conf: Configuration): Seq[TableLog] = {
    statusOf(path, conf)
    TableLog.above(levels(path, conf), path.getFileSystem(conf))
  }

  /** Those of some files that exist, hidden or not. */
  def at(paths: Iterable[Path], conf: Configuration): Seq[ListedFile] =
    paths.groupBy(_.getParent).toSeq.flatMap { case (directory, wanted) =>
      val there =
        try directory.getFileSystem(conf).listStatus(directory).toSeq
        catch { case _: FileNotFoundException => Nil }
      val (names, paths) = (there.map(_.getPath.getName).toSet, wanted.toSet)
      there.filter(file => file.isFile && paths(file.getPath)).map(listed(_, names))
    }

  /** A path and its parents, up to the table's directory. */
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
      TableLog.in(children.map(_.getPath)) ++ inner.flatMap(_.logs),
      children.map(_.getPath).filter(isMark) ++ inner.flatMap(_.marks),
      (files.filter(isHidden) ++ hidden).filterNot(isHarmless(_, fs)) ++ inner.flatMap(_.passedOver)
    )
  }

  private def listed(file: FileStatus, names: Set[String]) =
    ListedFile(
      file.getPath.toString,
      file.getLen,
      file.getModificationTime,
      names.contains(MaterialFile.nameFor(file.getPath.getName))
    )

  /** Whether this is a file without rows that we or other writers keep next to data files. */
  private def isHarmless(file: FileStatus, fs: FileSystem) = {
    val name = file.getPath.getName
    name == "_SUCCESS" || Harmless.exists(name.startsWith) || isChecksum(name) ||
    (name == ErasureNotes.Directory && file.isDirectory && fs.listStatus(file.getPath).forall { one =>
      one.isFile && (ErasureNotes.isOwn(one.getPath.getName) || isChecksum(one.getPath.getName))
    })
  }

  private def isChecksum(name: String) = name.startsWith(".") && name.endsWith(".crc")

  private val Harmless =
    Seq("_started_", "_committed_", ".pme-", MaterialFile.Prefix, SnapshotDirectory.Name)

  private def isLeftover(file: FileStatus) = file.getPath.getName.startsWith(FileRotation.LeftoverPrefix)

  /** A file, and the file of its key material if there is one. */
  def withMaterial(file: ListedFile): Seq[Path] = {
    val path = new Path(file.path)
    path +: Seq(new Path(path.getParent, MaterialFile.nameFor(path.getName))).filter(_ =>
      file.hasExternalMaterial
    )
  }

  // Like Spark: the directory of a partition may begin with an underscore.
  private[spark] def isHidden(file: FileStatus) = {
    val name = file.getPath.getName
    name.startsWith(".") || (name.startsWith("_") && !name.contains("=")) || name.endsWith("._COPYING_")
  }
}

/**
 * A log that records the lengths of a table's files: of a streaming sink, Delta or Hudi, or Iceberg's metadata. If the
 * length of a file changes, readers that use the log no longer find its footer.
 *
 * @param table the directory of the table
 */
private[admin] final case class TableLog(path: Path, table: Path) {
  def keeps(file: ListedFile): Boolean = file.path.startsWith(s"${table.toString.stripSuffix("/")}/")

  /** Whether Spark's listings use the log. If not, they also list files that are no longer part of the table. */
  def isOfSpark: Boolean = path.getName == TableLog.OfSpark

  def isOfDelta: Boolean = path.getName == TableLog.OfDelta

  def isOfIceberg: Boolean = path.getName == TableLog.IcebergDirectory

  def isOfHudi: Boolean = path.getName == TableLog.OfHudi

  /** @param copy the advice for a table that can be copied */
  def remedy(copy: String): String =
    if (isOfSpark) copy
    else if (isOfDelta)
      s"${Audience.current.deltaEncrypt} and ${Audience.current.deltaRotate} do this as a commit of the table."
    else "Write the table again with the tools of its table format."
}

private[admin] object TableLog {
  private val OfSpark = SealedTable.StreamLog
  private val OfDelta = "_delta_log"
  private val OfHudi = ".hoodie"
  private val Names = Set(OfSpark, OfDelta, OfHudi)

  private val IcebergDirectory = "metadata"
  private val IcebergFile = ".metadata.json"

  /** The logs in a directory, and the log that is the directory, from the directory's children. */
  def in(children: Seq[Path]): Seq[TableLog] = {
    val iceberg = children
      .find(_.getName.contains(IcebergFile))
      .map(_.getParent)
      .filter(_.getName == IcebergDirectory)
    (children.filter(child => Names.contains(child.getName)) ++ iceberg).map(log =>
      TableLog(log, log.getParent)
    )
  }

  /** The logs of the tables that a path may be a part of. Iceberg keeps data in a directory next to that of its metadata. */
  def above(levels: Seq[Path], fs: FileSystem): Seq[TableLog] = {
    val top = levels.last
    def of(place: Path) =
      if (fs.exists(place) && fs.getFileStatus(place).isDirectory)
        in(fs.listStatus(place).toSeq.map(_.getPath))
      else Nil
    (levels :+ new Path(top, IcebergDirectory)).flatMap(of) ++
      Option(top.getParent).toSeq.map(new Path(_, IcebergDirectory)).flatMap { place =>
        TableFiles.ifReadable(place)(of(place))
      }
  }
}
