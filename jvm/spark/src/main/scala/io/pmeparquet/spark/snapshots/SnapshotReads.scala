package io.pmeparquet.spark.snapshots

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.parquet.summary.SummaryKind
import io.pmeparquet.snapshot.{IndexContent, SnapshotDirectory, TableSnapshot, TableSnapshots, Version}
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.spark.options.{ConfResolver, SnapshotResolver}

/**
 * START HERE. Finds the tables that a read reads by a snapshot. ''Driver only.''
 *
 * @param options of the read
 */
private[spark] final class SnapshotReads(
    session: SparkSession,
    resolver: ConfResolver,
    options: Map[String, String]
) {
  import SnapshotReads._

  private lazy val snapshots: SnapshotResolver = resolver.snapshots(options)
  private val remembered = SessionSnapshots.of(session)

  /**
   * The sealed tables among those that some paths are, or are parts of.
   *
   * @param roots the paths of the read
   * @param isFile whether a path is a file
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_…` if a snapshot is not acceptable, or a required one is missing
   */
  def tables(roots: Seq[Path], isFile: Path => Boolean): Seq[SealedTable] =
    if (snapshots.settings.isOff) {
      if (snapshots.settings.hasVerifyKey)
        log.warn(s"${roots.mkString(", ")}: snapshot=off of this read turns off the verifyKey of its session")
      Nil
    } else {
      val candidates = roots.map(root => TableDirectories.of(root, isFile(root))).distinct
      val listings = new Listings
      val found = candidates.map(directories).distinct.map(one => one -> listings.table(one))
      requireNone(found.collect { case (named, None) => named.map(listings.directory) })
      // Many paths can be of one table, and each has other candidates.
      found.flatMap(_._2).distinct.toVector.map { table =>
        sealedTable(listings.directory(table), listings.versions(table))
      }
    }

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

  /** For paths of which no table has snapshots: none is required, and this session has seen none. */
  private def requireNone(candidates: Seq[Seq[SnapshotDirectory]]): Unit = {
    candidates.map(_.head).distinct.foreach(snapshots.snapshots(_).chosen(Nil))
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
    val list = remembered.files(version, snapshots.scope)(reader.files(version))
    new SealedTable(directory.table, list, contentOf(reader, list, _))
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
   * Compares what Spark has listed with the snapshots.
   *
   * @param roots the paths of the read
   * @param listed the files below them
   * @param catalog what a catalog says of the table, if the read is of a catalog's table
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_MISMATCH`
   */
  def require(
      tables: Seq[SealedTable],
      roots: Seq[Path],
      listed: Seq[FileStatus],
      catalog: Option[CatalogTable]
  ): Unit = {
    // A catalog can say that a partition is elsewhere.
    if (catalog.isDefined && tables.nonEmpty)
      listed.find(file => !tables.exists(_.holds(file.getPath))).foreach { file =>
        throw PmeErrors.outsideSealedTable(file.getPath.toString)
      }
    tables.foreach { table =>
      val own = listed.filter(file => table.holds(file.getPath))
      table.requireListed(own, roots, snapshots.conf)
      val isOfCatalog = catalog.exists(_.tracksPartitionsInCatalog)
      table.requireComplete(own, roots, isFiltered, isOfCatalog, snapshots.conf)
    }
  }

  /**
   * Requires every file of the sealed tables of a stream's source before it begins: if none is left, it reads no batch that
   * could notice it.
   */
  def requireWhole(source: Path): Unit = {
    val table = source.getFileSystem(snapshots.conf).makeQualified(source)
    tables(Seq(table), _ => false).foreach(_.requireWhole(snapshots.conf))
  }

  private def isFiltered: Boolean = options.keys.exists(name => Filters.exists(_.equalsIgnoreCase(name)))
}

private[spark] object SnapshotReads {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** Spark's options that leave files out of a listing. */
  private val Filters = Seq("pathGlobFilter", "modifiedBefore", "modifiedAfter")
}
