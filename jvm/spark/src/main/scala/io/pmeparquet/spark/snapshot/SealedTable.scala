package io.pmeparquet.spark.snapshot

import java.io.FileNotFoundException
import java.util.concurrent.ConcurrentHashMap
import java.util.Objects

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode, Literal}
import org.apache.spark.sql.catalyst.util.{CaseInsensitiveMap, DateTimeUtils}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{PartitioningAwareFileIndex, PathFilterFactory}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StringType, StructField}

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
   * Requires that a read gets exactly what it asks for of the snapshot's list. Anybody can write what Spark takes for a
   * listing, as `_spark_metadata`, directories and modification times, and who may change a catalog can lead its partitions
   * to any directory. So the list and the read's options alone say which files are read, each once, and in which partition.
   *
   * @param found what Spark reads below its roots, and how it found it
   * @param catalog what a catalog says of the table, if the read is of a catalog's table
   * @param stream for a batch of a stream, the directories that may be its source
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_MISMATCH`
   */
  def require(
      found: ListedFiles,
      catalog: Option[CatalogTable],
      stream: Option[Seq[Path]],
      conf: Configuration
  ): Unit = {
    val read = found.read.filter(one => holds(one.file.getPath))
    val files = (found.listed.filter(file => holds(file.getPath)) ++ read.map(_.file)).map(one =>
      one -> listed(one, conf)
    )
    val names = files.iterator.map { case (status, file) => status -> file.path }.toMap
    val isRead = read.iterator.map(one => names(one.file)).toSet
    requireOnce(read.map(_.file.getPath), found.roots)
    files.foreach { case (status, file) =>
      if (isRead(file.path) && !found.filters.accept(statusOf(file)))
        throw PmeErrors.snapshotMismatch(
          status.getPath.toString,
          "the file has another modification time than when it was sealed, and this read chooses files by it"
        )
    }
    val asked = snapshot.files.filter { file =>
      found.isBelowRoot(pathOf(file)) && found.filters.accept(statusOf(file))
    }
    asked.find(file => !isRead(file.path)).foreach(file => throw isMissing(file, conf))
    stream match {
      case Some(sources) => requireWhole(sources, conf)
      case None => requireOthers(snapshot.files.filterNot(file => isRead(file.path)), found, catalog, conf)
    }
    catalog match {
      case Some(table) => requireValues(read, found, table, conf)
      case None => requirePartitions(found)
    }
  }

  /**
   * What the list says of a file that Spark has found.
   *
   * @throws io.pmeparquet.PmeException if the list has no file of exactly this path and length
   */
  private def listed(file: FileStatus, conf: Configuration): SealedFile = {
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
    // As "file:/table/a#x", which opens the same file.
    if (pathOf(sealedFile) != file.getPath)
      throw mismatch(s"the file was listed under another name than ${pathOf(sealedFile)}")
    sealedFile
  }

  /** @param roots of the read: a file that lies below two of them is read twice, as the reader asked */
  private def requireOnce(read: Seq[Path], roots: Seq[Path]): Unit =
    read.groupBy(identity).foreach { case (path, same) =>
      if (same.size > 1 && same.size > roots.count(SealedFiles.isAtOrBelow(_, path)))
        throw PmeErrors.snapshotMismatch(path.toString, "the file was listed twice")
    }

  /** A file as its sealer saw it, for Spark's filters of names and times. */
  private def statusOf(file: SealedFile) =
    new FileStatus(file.length, false, 1, 1, file.modified, pathOf(file))

  /** The length that a file has now; none if it is gone. */
  private def now(file: Path, conf: Configuration): Option[Long] =
    try Some(file.getFileSystem(conf).getFileStatus(file).getLen)
    catch { case _: FileNotFoundException => None }

  /** @param length none for a file that is not there */
  private def isAsSealed(file: Path, length: Option[Long]): Boolean =
    relative(file).flatMap(snapshot.byPath.get).map(_.length) == length

  /** Requires that files which this read does not ask for are there, as far as it sees where they should be. */
  private def requireOthers(
      missing: Seq[SealedFile],
      found: ListedFiles,
      catalog: Option[CatalogTable],
      conf: Configuration
  ): Unit = if (missing.nonEmpty) {
    // Spark has replaced a pattern that chooses files by a list of those that exist.
    val roots = found.roots.filterNot(root => relative(root).exists(snapshot.byPath.contains))
    val choosesFiles = found.filters.areAny || roots.size < found.roots.size
    // A catalog says which partitions the table has: files in others are not looked for.
    if (catalog.exists(_.tracksPartitionsInCatalog)) {
      if (choosesFiles)
        requireFiles(missing.filter(file => found.isBelowRoot(pathOf(file))), conf)
    } else if (choosesFiles) requireFiles(missing, conf)
    else requireDirectories(missing, conf)
  }

  /**
   * Requires that Spark took partition columns from directories of the list only: another one could change the type of a
   * column, or hide the files of a table without partitions.
   */
  private def requirePartitions(found: ListedFiles): Unit =
    found.partitions.filter(holds).filterNot(directories).foreach { other =>
      throw PmeErrors.snapshotMismatch(
        other.toString,
        s"version ${snapshot.version.number} lists no file in this directory, and Spark takes it for a partition"
      )
    }

  private lazy val directories: Set[Path] = snapshot.files.iterator.map(pathOf(_).getParent).toSet

  /** Requires that a catalog gives each file the partition values that its path has, which the list states. */
  private def requireValues(
      read: Seq[ListedFiles.Read],
      found: ListedFiles,
      catalog: CatalogTable,
      conf: Configuration
  ): Unit = {
    val zone = CaseInsensitiveMap(catalog.storage.properties)
      .getOrElse(DateTimeUtils.TIMEZONE_OPTION, SQLConf.get.sessionLocalTimeZone)
    for (one <- read; (column, at) <- found.columns.zipWithIndex) {
      val stated = textOf(listed(one.file, conf), column).map(valueOf(_, column, zone))
      // Java's equality: NaN is a value of a partition, too.
      if (!stated.exists(Objects.equals(_, one.values.get(at, column.dataType))))
        throw otherValue(one.file.getPath, column)
    }
  }

  /**
   * The same for a file of the list, and values that are given as texts.
   *
   * @param values none for NULL
   */
  def requireValues(file: Path, columns: Seq[StructField], values: Map[String, Option[String]]): Unit = {
    val known = relative(file).flatMap(snapshot.byPath.get)
    val zone = SQLConf.get.sessionLocalTimeZone
    columns.foreach { column =>
      val isSame = for (one <- known; stated <- textOf(one, column); given <- values.get(column.name)) yield {
        val value = valueOf(stated, column, zone)
        // Two texts that are no values of the type are not the same.
        stated == given || (value != null && value == valueOf(given, column, zone))
      }
      if (!isSame.contains(true)) throw otherValue(file, column)
    }
  }

  private def textOf(file: SealedFile, column: StructField): Option[Option[String]] =
    file.partition.collectFirst { case (name, value) if name.equalsIgnoreCase(column.name) => value }

  private def valueOf(text: Option[String], column: StructField, zone: String): Any =
    Cast(Literal.create(text.orNull, StringType), column.dataType, Some(zone), EvalMode.TRY).eval()

  private def otherValue(file: Path, column: StructField) = PmeErrors.snapshotMismatch(
    file.toString,
    s"the catalog gives the file another value of partition column '${column.name}' than its directory has"
  )

  private def pathOf(file: SealedFile) = new Path(directory, file.path)

  private def isMissing(file: SealedFile, conf: Configuration) = PmeErrors.snapshotMismatch(
    pathOf(file).toString,
    s"version ${snapshot.version.number} lists the file, and " +
      (if (now(pathOf(file), conf).contains(file.length))
         "this read does not, because it was added after this table was loaded (load the table again), or somebody hid it: " +
           "by a log of a stream (_spark_metadata), another modification time, or a directory that looks like a partition"
       else "it is missing (if an overwrite of the table was interrupted, overwrite it again)")
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

  /**
   * For a stream. Its batches have only files that exist, that the log of another stream there lists, and that are
   * not much older than others: everything that decides about this must be as it was sealed.
   *
   * @param sources the directories that may be the stream's source
   */
  def requireWhole(sources: Seq[Path], conf: Configuration): Unit = {
    val modified = mutable.HashMap.empty[String, Long]
    val found = directory.getFileSystem(conf).listFiles(directory, /* recursive= */ true)
    while (found.hasNext) {
      val file = found.next()
      relative(file.getPath).foreach(modified.put(_, file.getModificationTime))
    }
    snapshot.files.foreach { file =>
      val time = modified.getOrElse(file.path, throw isMissing(file, conf))
      def refused(why: String) = PmeErrors.snapshotMismatch(
        pathOf(file).toString,
        s"the file has $why, and a stream leaves out files that are older than others (maxFileAge)"
      )
      if (time != file.modified) throw refused("another modification time than when it was sealed")
      if (time > System.currentTimeMillis + SealedTable.ClockDifference)
        throw refused("a modification time in the future")
    }
    (directory +: sources).map(new Path(_, SealedTable.StreamLog)).foreach { log =>
      if (log.getFileSystem(conf).exists(log)) throw PmeErrors.logOfSealedTable(log.toString)
    }
  }
}

private[spark] object SealedTable {

  /** Where Spark's file sink writes which files its batches made. Where it is, a stream reads these and no others. */
  val StreamLog = "_spark_metadata"

  /** Between this host and a storage, in milliseconds. */
  private val ClockDifference = 3600L * 1000
}

/**
 * What Spark has found for a read, and how. Nothing of it is trusted. ''Driver only.''
 *
 * @param roots the paths of the read
 * @param listed all files that Spark has listed below them
 * @param read those that a scan without filters reads. Spark leaves out files of `listed`, as those next to
 *   directories that look like partitions.
 * @param columns the partition columns
 * @param partitions the directories from which Spark took their names, types and values
 * @param filters the options that leave out files
 */
private[spark] final class ListedFiles private (
    val roots: Seq[Path],
    val listed: Seq[FileStatus],
    val read: Seq[ListedFiles.Read],
    val columns: Seq[StructField],
    val partitions: Seq[Path],
    val filters: ListedFiles.Filters
) {
  private val rootPaths = roots.iterator.map(_.toUri.getPath).toSet

  /** Whether a file is one of the roots, or below one. There may be as many roots as files. */
  def isBelowRoot(file: Path): Boolean =
    Iterator.iterate(file)(_.getParent).takeWhile(_ != null).exists(one => rootPaths(one.toUri.getPath))
}

private[spark] object ListedFiles {

  /** @param values of the partition columns that its rows get */
  final class Read(val file: FileStatus, val values: InternalRow)

  /** Spark's filters of files by their names and times. */
  final class Filters(options: Map[String, String]) {
    private val all = PathFilterFactory.create(CaseInsensitiveMap(options))

    def areAny: Boolean = all.nonEmpty
    def accept(file: FileStatus): Boolean = all.forall(_.accept(file))
  }

  /** @param options of the read */
  def of(index: PartitioningAwareFileIndex, options: Map[String, String]): ListedFiles = {
    val spec = index.partitionSpec()
    new ListedFiles(
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
