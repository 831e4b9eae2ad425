package io.pmeparquet.spark.snapshot

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.parquet.summary.SummaryKind
import io.pmeparquet.snapshot.{IndexContent, SnapshotDirectory, TableSnapshot, TableSnapshots, Version}
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.spark.options.{ResolvedOptions, SnapshotResolver}

/**
 * START HERE. Finds the tables that a read reads by a snapshot. ''Driver only.''
 *
 * @param resolved the options of the read
 */
private[spark] final class SnapshotReads(resolved: ResolvedOptions) {
  import SnapshotReads._

  private lazy val snapshots = new SnapshotResolver(resolved)
  private val remembered = SessionSnapshots.of(resolved.session)

  /**
   * The sealed tables among those that some paths are, or are parts of.
   *
   * @param roots the paths of the read
   * @param isFile whether a path is a file
   * @param found the files below the roots, if they are known: a root may be above a table
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_…` if a snapshot is not acceptable, or a required one is missing
   */
  def tables(roots: Seq[Path], isFile: Path => Boolean, found: Iterable[Path] = Nil): Seq[SealedTable] =
    if (snapshots.settings.isOff) {
      if (snapshots.settings.hasVerifyKey)
        log.warn(s"${roots.mkString(", ")}: snapshot=off of this read turns off the verifyKey of its session")
      Nil
    } else {
      val candidates = roots.map(root => TableDirectories.of(root, isFile(root))).distinct
      val listings = new Listings
      val ofRoots = candidates.map(directories).distinct.map(one => one -> listings.table(one))
      requireNone(ofRoots.collect { case (named, None) => named.map(listings.directory) })
      // Many paths can be of one table, and each has other candidates.
      (ofRoots.flatMap(_._2) ++ below(roots, found, listings)).distinct.toVector.map { table =>
        sealedTable(listings.directory(table), listings.versions(table))
      }
    }

  /** The sealed tables of files that lie below a root that is above these tables. */
  private def below(roots: Seq[Path], files: Iterable[Path], listings: Listings): Seq[Path] =
    if (snapshots.settings.location.isDefined) Nil
    else {
      val directories =
        files.iterator.map(_.getParent).toSet[Path].map(TableDirectories.of(_, isFile = false).last)
      val others = (directories -- roots.map(qualified)).toVector
      val (withVersions, without) = others.partition(listings.versions(_).nonEmpty)
      without.foreach(table => remembered.seen.requireNone(listings.directory(table)))
      withVersions
    }

  private def qualified(path: Path) = path.getFileSystem(snapshots.conf).makeQualified(path)

  /** The versions of tables that may be those of a read. Each directory is listed once. */
  private final class Listings {
    private val known = mutable.HashMap.empty[Path, (SnapshotDirectory, Seq[Long])]

    private def of(table: Path) = known.getOrElseUpdate(
      table, {
        val directory = snapshots.directory(table)
        (directory, directory.versions)
      }
    )

    def directory(table: Path): SnapshotDirectory = of(table)._1
    def versions(table: Path): Seq[Long] = of(table)._2

    /** The first of some tables that has snapshots. */
    def table(candidates: Seq[Path]): Option[Path] = candidates.find(versions(_).nonEmpty)
  }

  /** For paths whose tables have no snapshots: none is required, and this session has seen none. */
  private def requireNone(candidates: Seq[Seq[SnapshotDirectory]]): Unit = {
    // This asks for no key of the KMS: a read of ORC may have options that a read of Parquet, as parts are, would not accept.
    snapshots.settings.requiredBy.foreach { option =>
      snapshots.requireVerifyKey()
      candidates.headOption.foreach(none => throw PmeErrors.noSnapshot(none.head.table.toString, option))
    }
    candidates.flatten.distinct.foreach(remembered.seen.requireNone)
  }

  /** The directories that may have the table's snapshots, the outermost first: anybody can make one further in. */
  private def directories(candidates: Seq[Path]): Seq[Path] =
    if (snapshots.settings.location.isDefined) Seq(candidates.last)
    else candidates.reverse

  private def sealedTable(directory: SnapshotDirectory, versions: Seq[Long]): SealedTable = {
    val reader = snapshots.snapshots(directory)
    // There are versions, so the settings choose one or refuse all.
    val version = reader.chosen(versions).get
    if (snapshots.settings.isNewest) note(reader, version)
    else if (!snapshots.settings.isDigest)
      remembered.seen.requireKin(directory, version, reader.requireOwnHistory)(reader.continues)
    val list = remembered.files(version, snapshots.scope)(reader.files(version))
    // The log of a stream gives a root as the user wrote it.
    new SealedTable(qualified(directory.table), list, contentOf(reader, list, _))
  }

  private def contentOf(
      reader: TableSnapshots,
      list: TableSnapshot,
      index: IndexEntry
  ): Option[IndexContent] = {
    def warn(why: String) =
      log.warn(s"${reader.directory.table}: no file is skipped by index ${index.label}: $why")
    if (mayLoad(index))
      remembered.content(list.version, index, snapshots.scope)(reader.content(list, index))(failed =>
        // Without an index a read is slower. With a list that is not the sealed one it must fail.
        warn(failed.getMessage)
      )
    else {
      warn(s"it needs a class that option ${PmeOptions.IndexClasses.name} of this read does not name")
      None
    }
  }

  /** A manifest must not choose code. */
  private def mayLoad(index: IndexEntry): Boolean = index.kind match {
    case kind: SummaryKind.OfClass => snapshots.settings.indexClasses(kind.className)
    case _ => true
  }

  /** Notes a version that was found, unless this session has made a newer one meanwhile. */
  private def note(reader: TableSnapshots, found: Version): Unit =
    try remembered.seen.note(reader.directory, found, reader.requireOwnHistory)(reader.continues)
    catch {
      case refused: PmeException =>
        if (reader.newest().forall(_.number <= found.number)) throw refused
        throw PmeErrors.changedSinceListed(reader.directory.table.toString)
    }

  /**
   * Compares what Spark has found with the snapshots.
   *
   * @param catalog what a catalog says of the table, if the read is of a catalog's table
   * @param isStream whether this is a batch of a stream, which read other files before
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_MISMATCH`
   */
  def require(
      tables: Seq[SealedTable],
      index: PartitioningAwareFileIndex,
      catalog: Option[CatalogTable],
      isStream: Boolean
  ): Unit = if (tables.nonEmpty) {
    val found = ListedFiles.of(index, resolved.spelled)
    // A catalog can say that a partition is elsewhere.
    if (catalog.isDefined)
      (found.listed ++ found.read.map(_.file)).find(file => !tables.exists(_.holds(file.getPath))).foreach {
        file =>
          throw PmeErrors.outsideSealedTable(file.getPath.toString)
      }
    val stream = if (isStream) Some(base.toSeq) else None
    tables.foreach(_.require(found, catalog, stream, snapshots.conf))
  }

  /** The source of a batch of a stream. */
  private def base = resolved.spelled.collectFirst {
    case (name, path) if name.equalsIgnoreCase("basePath") => new Path(path)
  }

  /**
   * Requires the sealed tables of a stream's source before it begins: if none of their files is left, it reads no batch that
   * could notice it.
   *
   * @param source a directory, or a pattern of paths
   */
  def requireWhole(source: Path): Unit = {
    val named = qualified(source)
    val directory = SnapshotReads.withoutPattern(named)
    if (directory == named || mayBeOfTable(directory))
      tables(Seq(directory), _ => false).foreach(_.requireWhole(Seq(directory), snapshots.conf))
    else
      snapshots.settings.requiredBy.filter(_ => findsNothing(named)).foreach { option =>
        throw PmeErrors.noSnapshot(named.toString, option)
      }
  }

  private def findsNothing(pattern: Path) =
    Option(pattern.getFileSystem(snapshots.conf).globStatus(pattern)).forall(_.isEmpty)

  /** Whether a directory is that of a table with snapshots, or with some that this session has seen, or a part of one. */
  private def mayBeOfTable(directory: Path) = TableDirectories.of(directory, isFile = false).exists { table =>
    val there = snapshots.directory(table)
    there.versions.nonEmpty || remembered.seen.knows(there)
  }
}

private[spark] object SnapshotReads {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** The directory below which a pattern looks; the path itself if it is no pattern. */
  private def withoutPattern(path: Path): Path = Iterator
    .iterate(path)(_.getParent)
    .takeWhile(_ != null)
    .filter(above => !above.toUri.getPath.exists(Pattern.contains(_)))
    .next()

  private val Pattern = "*?[{".toSet
}

/** Finds the table of a path. ''Crosses the wire.'' */
private[spark] object TableDirectories {

  /**
   * The directories that may be the table's, for a path that is the table, a partition or a file of it: the nearest
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
