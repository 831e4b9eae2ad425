package io.pmeparquet.spark.snapshots

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.parquet.summary.SummaryKind
import io.pmeparquet.snapshot.{TableSnapshots, Version}
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
    if (snapshots.settings.isOff) Nil
    else {
      val candidates = roots.map(root => TableDirectories.of(root, isFile(root))).distinct
      candidates.map(directories).distinct.toVector.flatMap(sealedTable)
    }

  /** The directories that may have the table's snapshots, the outermost first: anybody can make one further in. */
  private def directories(candidates: Seq[Path]): Seq[Path] =
    if (snapshots.settings.location.isDefined) Seq(candidates.last)
    else candidates.reverse

  private def sealedTable(candidates: Seq[Path]): Option[SealedTable] = {
    val named = candidates.map(snapshots.directory)
    val (directory, versions) = named.iterator
      .map(one => one -> one.versions)
      .find { case (_, versions) => versions.nonEmpty }
      .getOrElse(named.head -> Nil)
    val table = directory.table
    val reader = snapshots.snapshots(directory)
    val found = reader.chosen(versions)
    if (found.isEmpty) named.foreach(remembered.seen.requireNone)
    found.map { version =>
      if (snapshots.settings.isNewest) note(reader, version)
      val list = remembered.files(version, snapshots.scope)(reader.files(version))
      def contentOf(index: IndexEntry) =
        if (!mayLoad(index)) {
          log.warn(
            s"$table: no file is skipped by index ${index.label}: it needs a class that option " +
              s"${PmeOptions.IndexClasses.name} of this read does not name"
          )
          None
        } else
          try Some(remembered.content(version, index, snapshots.scope)(reader.content(list, index)))
          catch {
            // Without an index a read is slower. With a list that is not the sealed one it must fail.
            case failed: PmeException =>
              log.warn(s"$table: no file is skipped by index ${index.label}: ${failed.getMessage}")
              None
          }
      new SealedTable(table, list, contentOf)
    }
  }

  /** A manifest must not choose code. */
  private def mayLoad(index: IndexEntry): Boolean = index.kind match {
    case kind: SummaryKind.OfClass => snapshots.settings.indexClasses(kind.className)
    case _ => true
  }

  /** Notes a version that was found, unless this session has made a newer one meanwhile. */
  private def note(reader: TableSnapshots, found: Version): Unit =
    try remembered.seen.note(reader.directory, found)(reader.continues)
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
      table.requireListed(own)
      val isOfCatalog = catalog.exists(_.tracksPartitionsInCatalog)
      table.requireComplete(own, roots, isFiltered, isOfCatalog, snapshots.conf)
    }
  }

  private def isFiltered: Boolean = options.keys.exists(name => Filters.exists(_.equalsIgnoreCase(name)))
}

private[spark] object SnapshotReads {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** Spark's options that leave files out of a listing. */
  private val Filters = Seq("pathGlobFilter", "modifiedBefore", "modifiedAfter")
}
