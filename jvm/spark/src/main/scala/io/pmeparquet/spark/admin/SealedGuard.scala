package io.pmeparquet.spark.admin

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.snapshot.{SealedFiles, TableSnapshots, Version}
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.snapshots.SessionSnapshots
import io.pmeparquet.PmeErrors

/** Operations on sealed tables. ''Driver only.'' */
private[admin] object SealedGuard {

  /** Whether there is anything at a path. */
  def isThere(path: Path, conf: Configuration): Boolean = path.getFileSystem(conf).exists(path)

  /** The table of a path, if it is sealed. */
  def sealedTableOf(session: SparkSession, options: Map[String, String], path: Path): Option[Path] = {
    val snapshots = new ConfResolver(session).snapshots(options)
    Some(TableFiles.tableOf(path, snapshots.conf)).filter(snapshots.directory(_).versions.nonEmpty)
  }

  /** @throws io.pmeparquet.PmeException if the path is not the directory of a whole table, as snapshots are of one */
  def requireTable(table: Path, conf: Configuration): Unit = {
    val owner = TableFiles.tableOf(table, conf)
    if (TableFiles.statusOf(table, conf).isFile || owner != table)
      throw PmeErrors.badSource(
        table.toString,
        s"it is a part of the table at $owner",
        "Give the table's directory."
      )
  }

  /** The newest version of a table that must have one: verified, and not older than what the session has seen. */
  def requireNewest(session: SparkSession, snapshots: TableSnapshots): Version = {
    val seen = SessionSnapshots.of(session).seen
    val table = snapshots.directory.table.toString
    val newest = snapshots.newest().getOrElse {
      seen.requireNone(snapshots.directory)
      throw PmeErrors.badSource(table, "it has no snapshot", "Check the path, and where its snapshots are.")
    }
    seen.note(snapshots.directory, newest, snapshots.requireOwnHistory)(snapshots.continues)
    newest
  }

  /** Requires that a second listing of a source has no other files than those that were compared. */
  def requireSame(compared: Seq[ListedFile], listed: Seq[Path]): Unit = {
    val known = compared.map(file => new Path(file.path)).toSet
    listed.find(!known.contains(_)).foreach(file => throw PmeErrors.changedMeanwhile(file.toString))
  }

  /**
   * Compares a source with its snapshot before it is copied: the list of files, and the bytes of each.
   *
   * @return whether it has a snapshot
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_…`
   */
  def requireAsSealed(
      session: SparkSession,
      options: Map[String, String],
      path: Path,
      files: Seq[ListedFile]
  ): Boolean = {
    val differences = new SnapshotFindings(session, options).differences(path, files, files)
    differences.flatMap(_.headOption).foreach { case (_, failure) => throw failure }
    differences.isDefined
  }

  /**
   * Compares the bytes of some files of a sealed table with those that were sealed.
   *
   * @param files all files of the table
   * @param chosen the paths of those to compare, in the table
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_…`
   */
  def requireBytes(
      session: SparkSession,
      options: Map[String, String],
      table: Path,
      files: Seq[ListedFile],
      chosen: Set[String]
  ): Unit = {
    val compared = files.filter { file =>
      SealedFiles.relative(table.toUri.getPath, new Path(file.path)).exists(chosen)
    }
    new SnapshotFindings(session, options)
      .differences(table, files, compared)
      .flatMap(_.headOption)
      .foreach { case (_, failure) => throw failure }
  }
}
