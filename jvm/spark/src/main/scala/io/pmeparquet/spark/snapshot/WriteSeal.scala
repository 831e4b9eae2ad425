package io.pmeparquet.spark.snapshot

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.CollectionAccumulator

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.parquet.write.{WriteRules, WrittenFooter}
import io.pmeparquet.spark.options.{ResolvedOptions, SnapshotResolver}

/** Whether a write seals the table after its commit. ''Driver only.'' */
private[spark] sealed trait WriteSeal {

  /** What a write does last before its tasks. */
  def begin: () => Unit = () => ()
}

private[spark] object WriteSeal {

  /** No rule has looked at the write, as for a stream's sink. */
  case object NotEvaluated extends WriteSeal

  /** The table is not sealed, and the write does not ask for it. */
  case object Unsealed extends WriteSeal

  /**
   * @param files what the write reports of its files
   * @param begin looks at the table again, and notes that the job begins. The format calls it last, when nothing can be wrong
   *   with the options any more.
   */
  final case class AfterCommit(files: WrittenFiles, override val begin: () => Unit) extends WriteSeal

  /**
   * At the start of a write's job.
   *
   * @param seal what a rule has found
   * @return what gets the files that the job makes; none if nobody seals the table
   */
  def begun(seal: WriteSeal, options: ResolvedOptions, output: Path): Option[WrittenFiles] = seal match {
    case AfterCommit(files, _) =>
      files.begin()
      Some(files)
    case Unsealed => None
    // Spark's own sink of streams commits without a command that could seal.
    case NotEvaluated =>
      if (isNeeded(options, tableOf(output)) || options.numberedWrite.isDefined)
        throw PmeErrors.cannotSealWrite
      None
  }

  /** A seal requires of each file the key that directories name for it. */
  def keysByColumn(table: String): PmeException = PmeErrors.sealedTable(
    "keys by a column that is no partition column",
    table,
    "Partition the table by this column, or leave it without a seal."
  )

  /** With its file system, which need not be the default one. */
  private def tableOf(output: Path) =
    new Path(output.toUri.getScheme, output.toUri.getAuthority, WriteRules.tableDirectory(output))

  /**
   * Whether a write must seal its table: it asks for it, the table is sealed, or what is required of its reads is a
   * snapshot. Readers would refuse a sealed table with further files.
   *
   * @param path where the write puts its files
   * @throws io.pmeparquet.PmeException if the table is sealed, and the write cannot seal it
   */
  def isNeeded(options: ResolvedOptions, path: Path): Boolean = {
    val snapshots = new SnapshotResolver(options)
    val candidates = TableDirectories.of(path, isFile = false)
    val sealedTable =
      (if (snapshots.settings.location.isDefined) candidates.takeRight(1) else candidates)
        .find(snapshots.directory(_).versions.nonEmpty)
    sealedTable.filter(_ != path).foreach { table =>
      throw PmeErrors.sealedTable(
        "a write to the directory of one partition",
        table.toString,
        "Write to the table's directory."
      )
    }
    if (sealedTable.isDefined && snapshots.settings.isOff)
      throw PmeErrors.sealedTable(
        "a write with snapshot=off",
        path.toString,
        "Remove the option: the write then seals the table after its commit."
      )
    sealedTable.isDefined || options.sealsAfterWrite || snapshots.settings.requiredBy.isDefined ||
    (!snapshots.settings.isOff && SessionSnapshots.of(options.session).seen.knows(snapshots.directory(path)))
  }
}

/**
 * The files that one write makes. Its tasks report each file when they close it, and Spark counts the reports of each
 * partition's committed task only, and once. So a file that lies in the table afterwards and is not among these was made by
 * somebody else. ''Crosses the wire.''
 *
 * @param table path of the table's directory, without scheme and authority
 */
private[spark] final class WrittenFiles private (
    table: String,
    reported: CollectionAccumulator[(String, WrittenFooter)]
) extends Serializable {

  /** For a task, before it makes a file: a snapshot lists only files below the table's directory. */
  def requireInside(file: Path): Unit = if (WriteRules.isMovedElsewhere(file))
    throw PmeErrors.sealedTable(
      "a write to a partition with a location of its own",
      table,
      "Give the partition its usual directory."
    )

  /** For a task that has closed a file. */
  def report(file: Path, written: WrittenFooter): Unit =
    reported.add(WriteRules.committedPath(file, table) -> written)

  /** For the driver, before the job: Spark may run a plan again that failed. */
  def begin(): Unit = reported.reset()

  /** By their paths in the table, for the driver after the job. */
  def committed: Map[String, WrittenFooter] = reported.value.asScala.toMap
}

private[spark] object WrittenFiles {
  def of(session: SparkSession, table: Path): WrittenFiles =
    new WrittenFiles(table.toUri.getPath, session.sparkContext.collectionAccumulator[(String, WrittenFooter)])
}
